"""Time and calls by function, and times of iterations: in a terminal, as JSON and CSV, and in Python."""

import json
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner
from page_traces import MS, run_of, training
from trace_builder import (
    End,
    ProcessScript,
    ThreadScript,
    boundary,
    operation,
    parse_script,
    write_script,
    write_scripts,
)

import rlscope
from rlscope.analysis.analysis import analyze
from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.analysis.tables.breakdown import group_seconds
from rlscope.analysis.tables.calls import call_rows
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.errors import UsageError
from rlscope.model import NS_PER_S, Category, GpuAttribution
from rlscope.page import short_detail
from rlscope.page.grid import OTHERS
from rlscope.page.trace_data import short_sweep
from rlscope.report.analysis_tables import print_breakdown
from rlscope.report.tables import number
from rlscope.trace.reader import open_trace

GOLDEN = Path(__file__).parent.parent / "golden" / "terminal" / "analyze_by_function.txt"
#: Of 4 iterations, of which one is slow: stage, layer, function, calls, milliseconds.
KNOWN = {
    ("backpropagation", "backend", "torch.addmm", 4, 161),
    ("simulation", "simulator", "gymnasium.step", 4, 80),
    ("inference", "backend", "torch.linear", 4, 42),
    ("simulation", "python", "", 0, 8),
    ("inference", "python", "", 0, 8),
    ("backpropagation", "python", "", 0, 8),
    ("(none)", "python", "", 0, 1),
}


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write_scripts([training(4, 2)], tmp_path / "trace")
    return Path("trace")


def shown(*words: object) -> str:
    return CliRunner().invoke(analyze_verb, [str(word) for word in words], catch_exceptions=False).output


def test_each_function_has_its_time_and_its_calls(trace: Path) -> None:
    analysis = rlscope.analyze(trace, by="function")
    rows = {(row.stage, row.category, row.function, row.count, row.seconds) for row in analysis.calls}
    assert rows == {(*names, count, milliseconds / 1000) for *names, count, milliseconds in KNOWN}
    assert [row.function for row in analysis.calls][:3] == ["torch.addmm", "gymnasium.step", "torch.linear"]
    assert analysis.calls.table["seconds"].sum() == pytest.approx(analysis.processes[0].wall_s)


def test_each_iteration_has_its_start_and_its_length(trace: Path) -> None:
    rows = rlscope.analyze(trace, by="function").iteration_times
    assert [(row.process, row.iteration) for row in rows] == [("main", number) for number in range(4)]
    assert [row.start_s for row in rows] == [0.0, 0.066, 0.132, 0.241]
    assert [row.seconds for row in rows] == [0.066, 0.066, 0.109, 0.066]


@pytest.mark.parametrize("script", sorted(GOLDEN.parent.parent.glob("*.trace.txt")), ids=lambda file: file.stem)
@pytest.mark.parametrize("attribution", GpuAttribution)
def test_functions_sum_to_the_breakdown(script: Path, attribution: GpuAttribution, tmp_path: Path) -> None:
    """Devices, blocked threads and waits included, to the nanosecond."""
    write_script(parse_script(script.read_text()), tmp_path / "trace")
    analysis = analyze(open_trace(tmp_path / "trace"), gpu_attribution=attribution, by_function=True)
    columns = ["process", "stage", "operation", "category"]
    by_function, expected = (
        {tuple(row[name] for name in columns): round(number(row["seconds"]) * NS_PER_S) for row in rows}
        for rows in (group_seconds(analysis.calls, columns), group_seconds(analysis.breakdown, columns))
    )
    assert {key: ns for key, ns in by_function.items() if ns} == {key: ns for key, ns in expected.items() if ns}


def test_plain_analyses_have_neither(trace: Path) -> None:
    analysis = rlscope.analyze(trace)
    assert not analysis.calls and not analysis.iteration_times
    assert not {"calls", "iteration_times"} & set(json.loads(shown(trace, "--json")))


def test_python_takes_no_other_table(trace: Path) -> None:
    with pytest.raises(UsageError, match="by=\"function\" or nothing was expected, but by='thread' was given"):
        rlscope.analyze(trace, by="thread")


def test_json_has_both(trace: Path) -> None:
    document = json.loads(shown(trace, "--json", "--by", "function"))
    assert document["breakdown"] == document["calls"] and len(document["calls"]) == len(KNOWN)
    assert document["calls"][0] == {
        "process": "main", "stage": "backpropagation", "operation": "backpropagation", "category": "backend",
        "function": "torch.addmm", "count": 4, "seconds": 0.161,
    }  # fmt: skip
    assert document["iteration_times"][2] == {"process": "main", "iteration": 2, "start_s": 0.132, "seconds": 0.109}


def test_other_columns_are_summed_over(trace: Path) -> None:
    document = json.loads(shown(trace, "--json", "--by", "category,function"))
    assert {row["function"]: row["count"] for row in document["breakdown"] if row["category"] == "backend"} == {
        "torch.addmm": 4,
        "torch.linear": 4,
    }
    assert [row for row in document["breakdown"] if row["category"] == "python"] == [
        {"category": "python", "function": "", "count": 0, "seconds": pytest.approx(0.025)}
    ]
    assert len(document["calls"]) == len(KNOWN)
    with pytest.raises(UsageError, match="with function, --by takes process, stage, operation, category, but 'phase'"):
        shown(trace, "--by", "function,phase")


def test_as_csv(trace: Path) -> None:
    shown(trace, "--by", "function", "--csv", "calls.csv")
    lines = Path("calls.csv").read_text().splitlines()
    assert lines[:2] == [
        "process,stage,operation,category,function,count,seconds",
        "main,backpropagation,backpropagation,backend,torch.addmm,4,0.161",
    ]


def test_it_looks_like_this(trace: Path) -> None:
    assert shown(trace, "--by", "function", "--correct", "none") == GOLDEN.read_text(encoding="utf-8")


def test_what_is_small_is_counted_and_all_shows_it(trace: Path) -> None:
    usual, whole = shown(trace, "--by", "function"), shown(trace, "--by", "function", "--all")
    assert "1 more below 1 %; --all shows them" in usual and "below 1 %" not in whole
    assert len(whole.splitlines()) == len(usual.splitlines())  # a row instead of the line that counts it


def test_several_traces_are_in_one_table(trace: Path) -> None:
    """One after the other, with shares of each."""
    write_scripts([training(1)], Path("other"))
    rows = [line.split() for line in shown("other", trace, "--by", "process,function").splitlines()]
    assert [row[:2] for row in rows if row[-1:] in (["45"], ["52"])] == [
        ["other", "torch.addmm"],
        ["trace", "torch.addmm"],
    ]


def test_a_correction_is_said_not_to_be_in_the_seconds(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cost = Cost(Bounds(10, 10, 10), Bounds(15, 20, 25), Bounds(40, 50, 60), events=9)
    analysis = analyze(open_trace(trace), correction=Correction({"boundary": cost}, "a test", {}), by_function=True)
    print_breakdown([analysis], [group_seconds(analysis.calls, ["function"])], False)
    assert "- seconds by function are as recorded, for they cannot be corrected" in capsys.readouterr().out


def test_a_page_shows_small_functions_as_one_row_of_the_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each function takes 1 ms longer than the next, so the last ones are small."""
    most = 64
    monkeypatch.setattr(short_detail, "MOST_FUNCTIONS_OF_A_PROCESS", most)
    functions, now = most + 10, 0
    thread = ThreadScript(0, 0)
    thread.statements = [operation(0, "simulation")]
    for place in range(functions):
        thread.statements.append(boundary(now, Category.SIMULATOR, f"f{place}"))
        now += (functions - place) * MS
        thread.statements.append(End(now))
    thread.statements.append(End(now))
    trace = write_scripts([ProcessScript(0, now, threads=[thread])], tmp_path / "trace")
    rows = call_rows(short_sweep(run_of(trace).swept, 0)).records()
    assert len(rlscope.analyze(trace, by="function").calls) == functions and len(rows) == most + 1
    assert [row for row in rows if row["operation"] == OTHERS] == [{
        "process": "main", "stage": "simulation", "operation": OTHERS, "category": "simulator", "function": OTHERS,
        "count": 10, "seconds": pytest.approx(0.055),
    }]  # fmt: skip


def test_a_notebook_shows_the_page_in_a_frame_that_reaches_nothing_else(trace: Path) -> None:
    frame = rlscope.analyze(trace).page()
    assert frame.html.startswith("<!doctype html>") and "RL-Scope: trace" in frame.html
    shown = frame._repr_html_()
    assert shown.startswith(
        '<iframe sandbox="allow-scripts allow-downloads allow-modals" srcdoc="&lt;!doctype html&gt;'
    )
    assert not frame.html.isascii() and shown.isascii() and unescape(shown.split('"')[3]) == frame.html
    assert shown.count("<") == 2 and "allow-same-origin" not in shown
