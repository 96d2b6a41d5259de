"""Python's time as a tree of functions, and the lines of it, of calls and of waits for a GPU."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from random_scripts import scripts
from trace_builder import ProcessScript, parse_script, write_script, write_scripts

from rlscope._analysis import sweep
from rlscope.analysis.analysis import analyze
from rlscope.analysis.lines.frames import frames_of
from rlscope.analysis.sweep import sweep_trace
from rlscope.trace.reader import open_trace

#: 100 ticks of simulation: 60 in `step`, of which its callee `clip` has 20 and another line 40; 40 in `reset`.
SIMULATES = """process start=0 stop=100
thread 0
0 + simulation
100 -
stacks 9
20 sees 0 main:/me/a.py:1 step:/me/env.py:7 clip:/me/env.py:20
50 sees 0 main:/me/a.py:2 step:/me/env.py:8
60 sees 0 main:/me/a.py:2 step:/me/env.py:9
100 sees 0 main:/me/a.py:3 reset:/me/env.py:30
"""
#: An update in the backend for 90 of 100 ticks, which a stack sees in line 71.
UPDATES = """process start=0 stop=100
thread 0
0 + backpropagation
5 + backend:torch.addmm
95 -
100 -
stacks 9
50 sees 0 update:/me/train.py:71
"""
#: The same, while it waits for the GPU, which works.
WAITS = """process start=0 stop=100
thread 0
0 + backpropagation
5 + backend:torch.item
6 + cuda_wait:cudaStreamSynchronize
94 -
95 -
100 -
queue 9 device=0
1-94 kernel gemm launch=backpropagation/backpropagation
stacks 10
50 sees 0 update:/me/train.py:71
"""


def written(script: str, tmp_path: Path) -> Path:
    write_scripts([parse_script(script)], tmp_path)
    return tmp_path


def test_functions_are_a_tree_whatever_their_lines(tmp_path: Path) -> None:
    found = frames_of(sweep_trace(open_trace(written(SIMULATES, tmp_path)), bins=0).main, least_share=0)
    named = [(row["function"], row["caller"], round(row["seconds"] * 1e9)) for row in found]
    assert sorted(named) == sorted([("main", None, 0), ("step", 0, 40), ("clip", 1, 20), ("reset", 0, 40)])


@given(scripts().filter(lambda script: script.stacks is not None))
@settings(max_examples=100, deadline=None)
def test_frames_of_a_stage_have_the_time_of_its_lines(script: ProcessScript) -> None:
    with tempfile.TemporaryDirectory() as directory:
        found = sweep(write_script(script, Path(directory)), limit_ticks=script.limit, borders=b"")
    assert found.detail is not None
    of_frames: Counter[str] = Counter()
    for place, frame in enumerate(found.detail.frames):
        of_frames[frame.stage] += frame.ticks
        assert frame.caller is None or frame.caller < place
    of_lines: Counter[str] = Counter()
    for line in found.lines:
        of_lines[line.stage] += line.ticks if line.function else 0
    assert +of_frames == +of_lines


def test_small_functions_are_their_callers(tmp_path: Path) -> None:
    found = frames_of(sweep_trace(open_trace(written(SIMULATES, tmp_path)), bins=0).main, least_share=0.3)
    assert [(row["function"], round(row["seconds"] * 1e9)) for row in found] == [
        ("main", 0),
        ("step", 60),
        ("reset", 40),
    ]


#: Of two waits of 44 ticks each in the same function, one stack is of line 71 and one of line 72.
TWO_LINES = (
    WAITS.replace("6 + cuda_wait:cudaStreamSynchronize\n94 -\n95 -", "6 + cuda_wait:cudaStreamSynchronize\n50 -\n50 -\n"
    "50 + backend:torch.item\n50 + cuda_wait:cudaStreamSynchronize\n94 -\n95 -")
    .replace("50 sees", "40 sees") + "80 sees 0 update:/me/train.py:72\n"
)  # fmt: skip


def test_a_line_has_the_time_of_its_stacks(tmp_path: Path) -> None:
    analysis = analyze(open_trace(written(SIMULATES, tmp_path)))
    assert {(row.file, row.line, round(row.seconds * 1e9)) for row in analysis.lines} == {
        ("/me/env.py", 20, 20), ("/me/env.py", 8, 30), ("/me/env.py", 9, 10), ("/me/env.py", 30, 40),
    }  # fmt: skip


def test_a_call_has_the_line_that_made_it(tmp_path: Path) -> None:
    (row,) = analyze(open_trace(written(UPDATES, tmp_path))).call_sites
    assert (row.caller, row.file, row.line) == ("update", "/me/train.py", 71)


@pytest.mark.parametrize(("script", "of_line", "stacks"), [(WAITS, 1, 1), (TWO_LINES, 1, 2)])
def test_a_wait_for_the_gpu_has_the_line_of_most_of_its_stacks(
    script: str, of_line: int, stacks: int, tmp_path: Path
) -> None:
    (row,) = analyze(open_trace(written(script, tmp_path))).sync_points
    assert (row.file, row.line, row.line_stacks, row.stacks) == ("/me/train.py", 71, of_line, stacks)
    assert round(row.seconds * 1e9) == 88


def test_without_stacks_no_line_is_known(tmp_path: Path) -> None:
    script = SIMULATES.partition("stacks")[0]
    analysis = analyze(open_trace(written(script, tmp_path)))
    assert not any(row.line for row in (*analysis.lines, *analysis.account))
