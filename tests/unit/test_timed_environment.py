"""Timed environments: which steps end an episode, drawn again and again alike; and what the workload refuses."""

import sys
from pathlib import Path

import numpy as np
import pytest

WORKLOADS = Path(__file__).resolve().parents[2] / "experiments" / "workloads"


def test_draws_are_those_of_the_seed_and_the_environment() -> None:
    from timed_environment import Timing, draw_resets

    timing = Timing(0.003, 0.1, reset_probability=0.2)
    drawn = draw_resets(timing, seed=5, environments=4, steps=500)
    assert drawn.shape == (500, 4) and drawn.dtype == bool
    np.testing.assert_array_equal(drawn, draw_resets(timing, 5, 4, 500))
    np.testing.assert_array_equal(drawn[:100, :2], draw_resets(timing, 5, 2, 100))
    assert (drawn != draw_resets(timing, 6, 4, 500)).any()
    assert len({column.tobytes() for column in drawn.T}) == 4
    # Five standard deviations.
    assert abs(drawn.mean() - 0.2) < 5 * (0.2 * 0.8 / drawn.size) ** 0.5


@pytest.mark.parametrize(("probability", "share"), [(0.0, 0.0), (1.0, 1.0)])
def test_certain_draws(probability: float, share: float) -> None:
    from timed_environment import Timing, draw_resets

    assert draw_resets(Timing(0.003, 0.1, probability), 0, 3, 50).mean() == share


def test_episodes_of_one_length_together() -> None:
    from timed_environment import Timing, draw_resets

    drawn = draw_resets(Timing(0.003, 0.1, episode_length=10, phase="together"), 0, 3, 35)
    assert [list(np.flatnonzero(column)) for column in drawn.T] == 3 * [[9, 19, 29]]


def test_episodes_of_one_length_anywhere() -> None:
    from timed_environment import Timing, draw_resets

    drawn = draw_resets(Timing(0.003, 0.1, episode_length=10, phase="random"), 0, 30, 40)
    ends = [np.flatnonzero(column) for column in drawn.T]
    assert all(len(column) == 4 and set(np.diff(column)) == {10} for column in ends)
    assert len({int(column[0]) for column in ends}) > 5


def test_an_environment_ends_its_episodes_as_drawn() -> None:
    from sampling.environments import TimedEnvironment
    from timed_environment import Timing, draw_resets

    timing = Timing(1e-9, 1e-9, reset_probability=0.3)
    environment = TimedEnvironment(timing, seed=2, environment=1)
    environment.reset()
    ends = []
    for _ in range(60):
        observation, _, has_ended, _, _ = environment.step(environment.action_space.sample())
        assert environment.observation_space.contains(observation)
        ends.append(has_ended)
        if has_ended:
            environment.reset()  # draws nothing
    assert ends == list(draw_resets(timing, 2, 2, 60)[:, 1])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--step-ms", "0"), "--step-ms: expected a number of milliseconds above 0, found '0'"),
        (("--reset-ms", "-5"), "--reset-ms: expected a number of milliseconds above 0, found '-5'"),
        (("--optimize-ms", "nan"), "--optimize-ms: expected a number of milliseconds above 0, found 'nan'"),
        (("--environments", "0"), "--environments: expected a whole number, at least 1, found '0'"),
        (("--reset-probability", "1.5"), "--reset-probability: expected a probability from 0 to 1, found '1.5'"),
        (("--environments", "4", "--environments-per-worker", "3"), "expected a divisor of 4"),
        (("--environments", "2", "--environments-per-worker", "4"), "expected a divisor of 2"),
        (("--sampler", "sb3_subproc", "--environments-per-worker", "1"), "expected 24, as all environments of sb3"),
        (("--reset-probability", "0.1", "--episode-length", "10"), "not allowed with argument"),
        (("--seed", "-1"), "--seed: expected a whole number, at least 0, found '-1'"),
        (("--phase", "together"), "expected --episode-length with --phase together, found none"),
        (("--environment", "real", "--reset-ms", "10"), "expected --environment timed for --reset-ms"),
        (("--cluster",), "expected --sampler rllib for --cluster, found free"),
    ],
)
def test_bad_input_is_one_line(
    arguments: tuple[str, ...],
    complaint: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from sample import main

    monkeypatch.setattr(sys, "argv", ["sample.py", "--sampler", "free", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err.splitlines()[-1]
