"""Corrected times hold the truth of programs that the calibration has not seen, as often as their intervals say."""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from known_loops import Recorded, lengths_of, loop_found
from trace_builder import End, ProcessScript, ThreadScript, boundary, write_script

from rlscope.analysis.correction.corrected import CorrectedProcess, Correction
from rlscope.analysis.sweep import sweep_trace
from rlscope.calibration import measure
from rlscope.calibration.measure import BETWEEN_PROGRAMS, LoopFound, costs_of
from rlscope.calibration.workload import MANY, STABLE_BASELINES3
from rlscope.model import NS_PER_S, Category
from rlscope.trace.reader import open_trace

TRIALS = 100
#: In ns, the cost of a call in the mean program: of its records inside and outside, and all else.
PARTS = np.array([200.0, 100.0, 200.0])
CALL = "torch.call"
IN_A_BURST = 10


# The cost of few calls is off most by chance, that of many by how programs differ; in between by both.
@pytest.mark.parametrize(
    ("calls", "spread", "trainings", "amplification"),
    [
        pytest.param(100, 0.1, 0, 1, marks=pytest.mark.slow),
        (400, 0.1, 0, 1),
        pytest.param(4000, 0.1, 0, 1, marks=pytest.mark.slow),
        pytest.param(400, 0.1, 2, 1, marks=pytest.mark.slow),
        pytest.param(400, BETWEEN_PROGRAMS, 0, 1, marks=pytest.mark.slow),
        (400, BETWEEN_PROGRAMS, 2, 1),
        (100, BETWEEN_PROGRAMS, 0, 4),
    ],
)
def test_intervals_hold_the_truth(
    calls: int, spread: float, trainings: int, amplification: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the wall times of 100 programs at least nine in ten; not all, as endless intervals would.

    Each program is corrected by a calibration of its own: of one program without trainings, else of so many trainings.

    Args:
        calls: of the program that is corrected.
        spread: one standard deviation, by which calls cost more or less in one program than in another.
        trainings: that are calibrated.
        amplification: how many times the work of each record is done.
    """
    monkeypatch.setattr(measure, "RESAMPLES", 100)
    random = np.random.default_rng(calls + 10 * trainings + amplification)
    held = 0
    for trial in range(TRIALS):
        loops = {
            name: loop_in_a_program(tmp_path, name, cost_in_a_program(random, spread), random)
            for name in ("annotations", "standard library", *STABLE_BASELINES3[:trainings])
        }
        calibrated = Correction(costs_of(loops), "a simulation", {})
        script, truth = slowed_program(calls, amplification, cost_in_a_program(random, spread), random)
        write_script(script, tmp_path / str(trial))
        (process,) = sweep_trace(open_trace(tmp_path / str(trial)), correction=calibrated).processes
        wall = CorrectedProcess(process.found, process.file.clock, calibrated.of_process((), amplification)).wall
        held += wall.low_s <= truth <= wall.high_s
    assert held >= 0.9 * TRIALS
    assert held < TRIALS or spread < BETWEEN_PROGRAMS


def cost_in_a_program(random: np.random.Generator, spread: float) -> npt.NDArray[np.float64]:
    """The mean cost of its calls, in parts."""
    return PARTS * (1 + spread * random.standard_normal())


def loop_in_a_program(place: Path, name: str, cost: npt.NDArray[np.float64], random: np.random.Generator) -> LoopFound:
    """A loop of the calibration in which calls and operations cost so much. Two thirds of records lie inside."""
    records, total = cost[:2].sum(), cost.sum()
    kind = "evaluate" if name == "annotations" else CALL
    twins: dict[str, Recorded]
    if name in STABLE_BASELINES3:
        added = {"operations": total, "backend": total}
        twins = {"operations": ({"simulation": IN_A_BURST}, 100, 50), "backend": ({CALL: IN_A_BURST}, 100, 50)}
    else:
        added = {"on": total, "many": total + (MANY - 1) * records}
        twins = {"on": ({kind: IN_A_BURST}, 100, 50), "many": ({kind: IN_A_BURST}, 108, 54)}
    return loop_found(place / name, lengths_of(random, added, bursts=40, events=IN_A_BURST), twins)


def skewed(random: np.random.Generator, calls: int) -> npt.NDArray[np.float64]:
    """How many times the mean each call costs: with a standard deviation of 1, one in a hundred 5 times or more."""
    return random.lognormal(-math.log(2) / 2, math.sqrt(math.log(2)), calls)


def slowed_program(
    calls: int, amplification: int, cost: npt.NDArray[np.float64], random: np.random.Generator
) -> tuple[ProcessScript, float]:
    """A recorded program that calls so often, and how many seconds it would have taken unrecorded."""
    inside, outside, rest = cost
    thread = ThreadScript(0, 0)
    now, added = 0, 0.0
    for times in skewed(random, calls):
        now += 20_000
        thread.statements.append(boundary(now + round(added), Category.BACKEND, CALL))
        now += 10_000
        added += times * amplification * inside
        thread.statements.append(End(now + round(added)))
        added += times * (amplification * outside + rest)
    now += 50_000
    stop = now + round(added)
    return ProcessScript(stop=stop, threads=[thread], amplification=amplification), now / NS_PER_S
