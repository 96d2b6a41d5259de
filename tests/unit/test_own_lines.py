"""The line of a program's own code that leads to its time."""

from pathlib import Path

import pytest
from trace_builder import parse_script, write_scripts

from rlscope.analysis.analysis import analyze
from rlscope.analysis.lines.own_lines import OwnLines
from rlscope.analysis.sweep import sweep_trace
from rlscope.trace.reader import open_trace

#: 20 ticks of starting up; 80 of simulation, of which 30 are in a callback; 40 in a native call, which a stack sees.
SCRIPT = """process start=0 stop=200
thread 0
20 + simulation
50 + callback
80 -
100 -
100 + inference
105 + backend:torch.addmm
145 -
150 -
150 + wait:time.sleep
190 -
stacks 9
20 sees 0 <module>:/me/a.py:1 find:/v/rlscope/record/hooks.py:9 g:/v/site-packages/torch/x.py:4
30 sees 0 <module>:/me/a.py:9 learn:/v/site-packages/sb3/p.py:5 step:/me/env.py:7 deepcopy:/u/lib/python3.11/copy.py:8
40 sees 0 <module>:/me/a.py:9 learn:/v/site-packages/sb3/p.py:5 step:/me/env.py:7 deepcopy:/u/lib/python3.11/copy.py:9
50 sees 0 <module>:/me/a.py:9 learn:/v/site-packages/sb3/p.py:5 step:/me/env.py:8
80 sees 0 <module>:/me/a.py:9 learn:/v/site-packages/sb3/p.py:6 _on_step:/me/a.py:4
100 sees 0 <module>:/me/a.py:9 learn:/v/site-packages/sb3/p.py:5
120 sees 0 <module>:/me/a.py:9 learn:/v/site-packages/sb3/p.py:7
170 sees 0 <module>:/me/a.py:10
"""
BEGINNING = "BaseProcess._bootstrap:/lib/python3.11/multiprocessing/process.py:1"


@pytest.fixture
def lines(tmp_path: Path) -> OwnLines:
    write_scripts([parse_script(SCRIPT)], tmp_path)
    swept = sweep_trace(open_trace(tmp_path))
    return OwnLines(swept, analyze(open_trace(tmp_path)).loops)


@pytest.mark.parametrize(
    ("asked", "text", "called", "native"),
    [
        ({"stage": "simulation", "purpose": "training"}, "/me/env.py:7 step", ("copy.py deepcopy",), ""),
        ({"purpose": "callback"}, "/me/a.py:4 _on_step", (), ""),
        ({"category": "backend"}, "/me/a.py:9 <module>", ("sb3/p.py learn",), "torch.addmm"),
        ({"category": "wait", "function": "time.sleep"}, "/me/a.py:10 <module>", (), "time.sleep"),
        ({"part": ("starting up", "afterwards"), "category": "python"}, "/me/a.py:1 <module>", ("torch/x.py g",), ""),
        ({"purpose": ("callback", "training"), "category": "python"}, "/me/a.py:9 <module>", ("sb3/p.py learn",), ""),
    ],
)
def test_line_that_leads_to_most(
    asked: dict[str, str], text: str, called: tuple[str, ...], native: str, lines: OwnLines
) -> None:
    found = lines.of("main", **asked)
    assert found is not None
    assert (found.text, found.called, found.native) == (text, called, native)


def test_shares_and_stacks(lines: OwnLines) -> None:
    found = lines.of("main", operation="simulation")
    assert found is not None
    assert (found.function, found.stacks, found.seen) == ("step", 3, 4)
    assert (found.share, found.line_share) == (pytest.approx(30 / 50), pytest.approx(20 / 50))


def test_time_is_that_of_the_process_however_often_it_was_seen(lines: OwnLines) -> None:
    """One look into a call of 40 ticks stands for these, not for the period of looks."""
    times = lines.stacks("main").times
    assert sum(time.seconds for time in times if time.category == "backend") == pytest.approx(40e-9)
    assert sum(time.seconds for time in times if time.stage == "simulation") == pytest.approx(50e-9)


def test_none_was_seen(lines: OwnLines) -> None:
    assert lines.of("main", stage="backpropagation") is None


@pytest.mark.parametrize(
    ("first", "is_own"),
    [
        ("<module>:/me/a.py:1", True), ("f:/me/a.py:1", True), ("<module>:<string>:1", True), ("f:<string>:1", False),
        ("f:/usr/lib/python3.11/copy.py:1", False), ("f:/usr/lib64/python3.11/copy.py:1", False),
        ("f:/usr/lib/python3/dist-packages/x.py:1", False), ("f:/v/lib/python3.11/site-packages/x/y.py:1", False),
    ],
)  # fmt: skip
def test_what_is_own(first: str, is_own: bool, tmp_path: Path) -> None:
    script = f"process start=0 stop=20\nthread 0\n1 + simulation\n15 -\nstacks 9\n10 sees 0 {first} g:<string>:2\n"
    write_scripts([parse_script(script)], tmp_path)
    stacks = OwnLines(sweep_trace(open_trace(tmp_path)), analyze(open_trace(tmp_path)).loops).stacks("main")
    assert stacks.is_own == [is_own, is_own and "<string>" in first]


@pytest.mark.parametrize(
    ("frames", "is_own"),
    [
        ("main:/me/a.py:1 f:/me/b.py:2", True),
        (f"main:/me/a.py:1 {BEGINNING} f:/me/b.py:2", True),
        (f"main:/me/a.py:1 {BEGINNING} f:/lib/python3.11/b.py:2", False),
        (f"{BEGINNING} <module>:/me/b.py:2", False),
    ],
)
def test_what_a_process_was_started_to_run(frames: str, is_own: bool, tmp_path: Path) -> None:
    script = f"process start=0 stop=20\nthread 0\n1 + simulation\n15 -\nstacks 9\n10 sees 0 {frames}\n"
    write_scripts([parse_script(script)], tmp_path)
    lines = OwnLines(sweep_trace(open_trace(tmp_path)), analyze(open_trace(tmp_path)).loops)
    assert lines.own_share("main", "python") == float(is_own)
    assert lines.own_share("main", "backend") == 0


def test_functions_with_what_they_called_and_without(tmp_path: Path) -> None:
    """A function that calls itself counts once."""
    script = (
        "process start=0 stop=100\nthread 0\n1 + simulation\n61 -\nstacks 9\n"
        "31 sees 0 main:/me/a.py:1 search:/me/a.py:7 search:/me/a.py:8 search:/me/a.py:9\n"
        "51 sees 0 main:/me/a.py:1 search:/me/a.py:7 deepcopy:/u/lib/python3.11/copy.py:8\n61 sees 0 main:/me/a.py:2\n"
    )
    write_scripts([parse_script(script)], tmp_path)
    rows = analyze(open_trace(tmp_path)).functions
    found = {row.function: (row.is_own, row.stacks, row.own_stacks) for row in rows}
    assert found == {"main": (True, 3, 1), "search": (True, 2, 1), "deepcopy": (False, 1, 1)}
    seconds = {row.function: (round(row.seconds * 1e9), round(row.own_seconds * 1e9)) for row in rows}
    assert seconds == {"main": (60, 10), "search": (50, 30), "deepcopy": (20, 20)}
    assert {(row.process, row.stage, row.purpose, row.file) for row in rows} == {
        ("main", "simulation", "training", "/me/a.py"), ("main", "simulation", "training", "copy.py"),
    }  # fmt: skip
