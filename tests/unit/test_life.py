"""The wall time of the process that paces a run, in parts that sum to it."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_scripts import scripts
from trace_builder import ProcessScript, analyzed, write_scripts

from rlscope.analysis.analysis import analyze
from rlscope.analysis.document import document_of
from rlscope.analysis.tables.loop import Life
from rlscope.trace.reader import open_trace

NO_LOOP = "process stop=100\nthread 0\n10 + backend:mm\n30 -"
TO_THE_END = "process stop=100\nthread 0\n30 + inference\n60 -\n70 + simulation\n100 -"
INSIDE = """process stop=100
thread 0
20 + training_loop
30 + phase:evaluation
35 + inference
45 -
50 -
90 -"""
AFTERWARDS = """process stop=100
thread 0
20 + simulation
40 -
50 + backpropagation
60 -
70 + phase:evaluation
75 + inference
85 -
90 -"""
ONLY_EVALUATION = "process stop=100\nthread 0\n10 + phase:evaluation\n20 + inference\n30 -\n60 -"
PROGRESS = "process stop=100\nthread 0\n20 baseline 0\n30 progress 1\n60 progress 2"
COMPILED = "process stop=100\nthread 0\n10 + compile\n20 -\n40 + simulation\n60 -\n70 + compile\n80 -"
#: It waits for a worker, which lives for longer than it does.
MAIN = "process stop=100\nthread 0\n30 + simulation\n40 + wait:posix.read\n70 -\n80 -"
WORKER = "process start=40 stop=400\nthread 0\n50 + simulation\n60 -"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param(NO_LOOP, (0, 0, 0, 0, 100), id="no loop"),
        pytest.param(TO_THE_END, (30, 70, 0, 0, 0), id="a loop to the very end"),
        pytest.param(INSIDE, (20, 50, 20, 10, 0), id="evaluation in the loop"),
        pytest.param(AFTERWARDS, (20, 40, 20, 20, 0), id="evaluation afterwards"),
        pytest.param(ONLY_EVALUATION, (0, 50, 0, 0, 50), id="evaluation is all that it does"),
        pytest.param(PROGRESS, (20, 40, 0, 40, 0), id="reports of progress alone"),
        pytest.param(COMPILED, (30, 40, 0, 30, 0), id="compiling before the loop and behind it"),
    ],
)
def test_the_parts_of_a_life(text: str, parts: tuple[int, ...], tmp_path: Path) -> None:
    assert analyzed(tmp_path, text).life == Life("main", 100, *parts)


def test_they_are_those_of_the_process_that_paces(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, MAIN, WORKER)
    assert analysis.path is not None
    assert analysis.life == Life(analysis.path.process, 100, 30, 50, 0, 20, 0)


def test_the_loop_is_the_one_that_paces(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, AFTERWARDS)
    assert analysis.path is not None and analysis.path.total_s == pytest.approx(40e-9)


def test_the_document_has_them(tmp_path: Path) -> None:
    assert document_of(analyzed(tmp_path, INSIDE))["life"] == {
        "process": "main", "wall_ns": 100, "starting_up_ns": 20, "loop_ns": 50, "evaluation_ns": 20,
        "afterwards_ns": 10, "unplaced_ns": 0,
    }  # fmt: skip


@given(st.lists(scripts(), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_the_parts_sum_to_the_wall_time(processes: list[ProcessScript]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        analysis = analyze(open_trace(write_scripts(processes, Path(directory))))
    life = analysis.life
    if life is None:
        assert sum(row.seconds for row in analysis.breakdown) == 0
        return
    (row,) = [row for row in analysis.processes if row.process == life.process]
    parts = (life.starting_up_ns, life.loop_ns, life.evaluation_ns, life.afterwards_ns, life.unplaced_ns)
    assert min(parts) >= 0
    assert sum(parts) == life.wall_ns == round(row.wall_s * 1e9)


def test_waits_in_the_loop_lie_in_the_loop_that_the_life_has(tmp_path: Path) -> None:
    waits = ("{} + wait:time.sleep", "{} -")
    text = "process stop=100\nthread 0\n" + "\n".join(
        [
            *(line.format(time) for line, time in zip(waits, (5, 10), strict=True)),  # before the loop
            "20 + simulation", "30 -",
            *(line.format(time) for line, time in zip(waits, (32, 39), strict=True)),  # in it
            "40 + phase:evaluation", "42 + inference",
            *(line.format(time) for line, time in zip(waits, (43, 47), strict=True)),  # in an operation, but beside it
            "48 -", "50 -",
            "60 + phase:collect",
            *(line.format(time) for line, time in zip(waits, (61, 64), strict=True)),  # in no operation, but in it
            "70 -",
            "80 + simulation", "90 -",
        ]
    )  # fmt: skip
    found = {row.phase: (round(1e9 * row.wait_s), round(1e9 * row.in_loop_s)) for row in analyzed(tmp_path, text).waits}
    assert found == {"(none)": (12, 7), "evaluation": (4, 0), "collect": (3, 3)}
