"""Functions of a program's own that look like tests of its policy are told from its training, and no others are."""

from pathlib import Path

import pytest
from trace_builder import parse_script, write_scripts

from rlscope.analysis.account.observations import observations
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.lines.possible_evaluations import is_called_a_test
from rlscope.trace.reader import open_trace

STEP, NETWORK, UPDATE = "simulation", "inference", "backpropagation"


def analyzed(directory: Path, work: list[tuple[str, str]]) -> Analysis:
    """Analyze a training of 10 ns a piece: a stage and the functions in which a stack saw it, of a file /me/a.py."""
    script = [f"process start=0 stop={10 * len(work)}", "thread 0"]
    for place, (stage, _) in enumerate(work):
        script += [f"{10 * place} + {stage}", f"{10 * place + 10} -"]
    script.append("stacks 9")
    for place, (_, functions) in enumerate(work):
        frames = " ".join(f"{function}:/me/a.py:{7}" for function in ["<module>", *functions.split()])
        script.append(f"{10 * place + 10} sees 0 {frames}")
    return analyze(open_trace(write_scripts([parse_script("\n".join(script) + "\n")], directory)))


def functions(analysis: Analysis) -> list[tuple[str, int, int, int, int]]:
    """By function: stacks, and nanoseconds in all, of stepping and of networks."""
    return [
        (row.function, row.stacks, *(round(s * 1e9) for s in (row.seconds, row.simulation_s, row.inference_s)))
        for row in analysis.possible_evaluations
    ]


def rounds(*names: str) -> list[tuple[str, str]]:
    """Each function steps and asks the network in turn, then comes an update."""
    return [*((stage, name) for name in names for stage in (STEP, NETWORK)), (UPDATE, "update")] * 2


def test_a_function_that_tests_the_policy(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, [*rounds("rollout", "evaluate rollout"), (STEP, "evaluate rollout")])
    assert functions(analysis) == [("evaluate", 5, 50, 30, 20)]
    (row,) = analysis.possible_evaluations
    assert (row.process, row.file, row.line) == ("main", "/me/a.py", 7)
    (said,) = observations(analysis)
    assert all(each in said for each in ("50 ns", "evaluate, me/a.py:7", '@rlscope.phase("evaluation")'))


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(rounds("collect_a", "collect_b", "collect_c"), id="environments in turn before an update"),
        pytest.param([each for each in rounds("collect", "evaluate") if each[0] != UPDATE], id="nothing is updated"),
        pytest.param([(stage, f"test_training {name}") for stage, name in rounds("collect")], id="around all"),
        pytest.param([(STEP, "test"), (NETWORK, "test"), (STEP, "collect"), (UPDATE, "test")], id="it updates"),
        pytest.param([*rounds("collect"), (NETWORK, "evaluate_actions"), (UPDATE, "update")], id="it does not step"),
        pytest.param([*rounds("collect"), (STEP, "test_environment")], id="no network in it"),
        pytest.param([*rounds("collect"), ("callback", "evaluate")], id="it is in a callback"),
    ],
)
def test_what_is_training_or_has_a_name_already(work: list[tuple[str, str]], tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, work)
    assert not functions(analysis)
    assert not observations(analysis)


def test_of_one_in_another_the_outer_one_that_fits_has_the_time(tmp_path: Path) -> None:
    work = [(stage, f"test_training {name}") for stage, name in rounds("collect", "evaluate run_test")]
    assert functions(analyzed(tmp_path, [*work, (STEP, "collect")])) == [("evaluate", 4, 40, 20, 20)]


def test_few_stacks_are_enough(tmp_path: Path) -> None:
    """Of what is collected no step was seen."""
    work = [(NETWORK, "collect"), (UPDATE, "update"), (STEP, "evaluate"), (NETWORK, "evaluate")]
    assert functions(analyzed(tmp_path, work)) == [("evaluate", 2, 20, 10, 10)]


def test_a_stack_that_is_seen_late_changes_nothing(tmp_path: Path) -> None:
    late = [(UPDATE, "evaluate")]
    assert functions(analyzed(tmp_path / "few", [*rounds("collect", *["evaluate"] * 4), *late])) == []
    (row,) = functions(analyzed(tmp_path / "many", [*rounds("collect", *["evaluate"] * 6), *late]))
    assert row == ("evaluate", 24, 240, 120, 120)


def test_a_short_one_is_in_the_table_and_no_finding(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, [*rounds(*["collect"] * 30), (STEP, "evaluate"), (NETWORK, "evaluate")])
    assert functions(analysis) == [("evaluate", 2, 20, 10, 10)]
    assert not observations(analysis)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("evaluate", True), ("run_eval_episodes", True), ("Agent.testPolicy", True), ("Evaluator.run", True),
        ("main.<locals>.validate", True), ("test2", True), ("evaluate.<locals>.step", False), ("latest", False),
        ("contest", False), ("retrieval", False), ("value", False), ("<module>", False), ("<lambda>", False),
    ],
)  # fmt: skip
def test_names(name: str, is_one: bool) -> None:
    assert is_called_a_test(name) == is_one
