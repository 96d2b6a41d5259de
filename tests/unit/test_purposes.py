"""The table of purposes: what a process's time was for, and when a terminal shows it."""

from pathlib import Path

import pytest
from trace_builder import parse_script, write_script

from rlscope.analysis.analysis import Analysis, analyze
from rlscope.report.analysis_tables import print_whole
from rlscope.trace.reader import open_trace

GOLDEN = Path(__file__).parent.parent / "golden"
TITLE = "What the time of"


def analyzed(script: str, directory: Path) -> Analysis:
    write_script(parse_script(script), directory, 1000)
    return analyze(open_trace(directory))


def test_each_instant_has_one_purpose(tmp_path: Path) -> None:
    analysis = analyzed((GOLDEN / "purposes.trace.txt").read_text(), tmp_path)
    found: dict[str, int] = {}
    for row in analysis.purposes:
        found[row.purpose] = found.get(row.purpose, 0) + round(row.seconds * 1e9)
    assert found == {
        "starting_up": 66,
        "training": 80 + 290 + 30 + 100,
        "render": 15,
        "callback": 40 + 20,
        "compile": 10 + 4,
        # In a callback too, but for the collection that comes in it.
        "evaluation": 70 + 20,
        "garbage_collection": 20 + 5 + 10 + 10 + 10,
        "checkpoint": 50,
        "log": 10,
        "afterwards": 140,
    }
    assert sum(found.values()) == round(analysis.processes[0].wall_s * 1e9) == 1000
    parts: dict[str, int] = {}
    for row in analysis.purposes:
        parts[row.part] = parts.get(row.part, 0) + round(row.seconds * 1e9)
    life = analysis.life
    assert life is not None
    assert parts == {
        "starting up": life.starting_up_ns,  # with the collection that came then
        "loop": life.loop_ns,
        "evaluation": life.evaluation_ns,
        "afterwards": life.afterwards_ns,
    }
    assert {(row.purpose, row.stage) for row in analysis.purposes if row.purpose == "callback"} == {
        ("callback", "training_loop"),
        ("callback", "inference"),
    }


def test_time_of_a_process_without_a_loop_is_for_nothing_that_is_known(tmp_path: Path) -> None:
    analysis = analyzed("process start=0 stop=100\nthread 0\n10 + garbage_collection\n30 -\n", tmp_path)
    assert {(row.purpose, round(row.seconds * 1e9)) for row in analysis.purposes} == {
        ("(none)", 80),
        ("garbage_collection", 20),
    }


def test_logs_and_checkpoints_do_not_say_where_the_loop_is(tmp_path: Path) -> None:
    script = "process start=0 stop=100\nthread 0\n10 + log\n20 -\n40 + simulation\n50 -\n80 + checkpoint\n90 -\n"
    analysis = analyzed(script, tmp_path)
    assert {(row.purpose, round(row.seconds * 1e9)) for row in analysis.purposes} == {
        ("starting_up", 30),
        ("log", 10),
        ("training", 10),
        ("checkpoint", 10),
        ("afterwards", 40),
    }


def test_a_terminal_shows_purposes_where_time_was_not_for_training_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_whole([analyzed((GOLDEN / "purposes.trace.txt").read_text(), tmp_path)])
    shown = capsys.readouterr().out.partition(TITLE)[2]
    assert shown.index("training") < shown.index("evaluation") < shown.index("callbacks") < shown.index("checkpoints")


def test_a_terminal_shows_no_purposes_of_a_run_that_only_trains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "process start=0 stop=1000\nthread 0\n100 + simulation\n200 -\n400 + inference\n500 -\n"
    print_whole([analyzed(script, tmp_path)])
    assert TITLE not in capsys.readouterr().out
