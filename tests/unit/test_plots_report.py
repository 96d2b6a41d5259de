"""The page, the report and its views of analyzed traces."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click import BadParameter
from click.testing import CliRunner
from compared_runs import NO_CORE, loop, write_run
from recording import call_here
from rows_of import bare_analysis, rows_of
from trace_builder import parse_script, write_script

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.correction.corrected import AppliedCorrection
from rlscope.analysis.machines import core_use
from rlscope.analysis.rows import Rows
from rlscope.analysis.table_rows import (
    BreakdownRow,
    ProcessRow,
    TransitionRow,
)
from rlscope.cli.given.traces import names
from rlscope.cli.plot import plot
from rlscope.cli.report import report
from rlscope.errors import UsageError
from rlscope.page.plain_page import Page
from rlscope.plots.tables import RECORDED_TIME, TRAINING_TIME
from rlscope.report.report_page import write_report
from rlscope.report.workloads import complete_view, not_drawn_text, published_view, transitions_view, workloads

TRAINING = [("simulation", "simulator", 2.0), ("backpropagation", "backend", 6.0), ("(none)", "python", 1.0)]
IDLE = [("(none)", "python", 3.0)]

GOLDEN = Path(__file__).parent.parent / "golden"


def analysis(
    processes: dict[str, list[tuple[str, str, float]]], extrapolated_s: float | None = None, why: tuple[str, ...] = ()
) -> Analysis:
    rows = [
        BreakdownRow(name, "(none)", stage, "(none)" if stage == "(none)" else "x", category, "cpu", "", "", seconds)
        for name, found in processes.items()
        for stage, category, seconds in found
    ]
    rates = (5.0, 0.5) if extrapolated_s else (None, None)
    crossings = [
        TransitionRow(name, stage, "x", "python", category, 5, *rates)
        for name, found in processes.items()
        for stage, category, _ in found
    ]
    usual = {
        "machine": "here", "pid": 7, "role": "main", "exit_status": 0, "complete": not why, "start_s": 0.0,
        "end_s": 9.0, "wall_s": 9.0, "iterations": 0, "threads_in_operations": 1, "beside_s": 0.0,
    }  # fmt: skip
    return bare_analysis(
        processes=rows_of(ProcessRow, ({"process": name} for name in processes), **usual),
        breakdown=Rows(BreakdownRow, rows),
        cores=core_use({}, rows),
        transitions=Rows(TransitionRow, crossings),
        complete=not why,
        why=why,
        iterations=10 if extrapolated_s else None,
        timesteps=100 if extrapolated_s else None,
        total_timesteps=1000 if extrapolated_s else None,
        extrapolated_s=extrapolated_s,
        uncorrected="there is no calibration",
    )


def test_workloads_are_named_by_trace_and_where_needed_by_process() -> None:
    found = workloads({"a": analysis({"main": TRAINING}), "b": analysis({"main": TRAINING, "worker": TRAINING})})
    assert [workload.name for workload in found] == ["a", "b: main", "b: worker"]


def test_of_many_processes_those_most_in_operations_are_drawn() -> None:
    """23 have longer trainings than 300 others, of which the first is drawn; one is outside operations for longest."""
    longer = [(stage, category, 2 * seconds) for stage, category, seconds in TRAINING]
    processes = {f"p{number}": TRAINING for number in range(300)} | {f"busy_{n}": longer for n in range(23)}
    idle = {"idle": [("(none)", "python", 1e6)]}
    traces = {"a": analysis(idle | processes), "b": analysis({"main": TRAINING})}
    assert [each.name for each in workloads(traces)] == ["a: p0", *(f"a: busy_{n}" for n in range(23))]
    assert "the 24 processes with most time in operations; of 301 more" in not_drawn_text(traces)
    assert not_drawn_text({"b": traces["b"]}) == ""


def test_the_published_view_spreads_shares_over_the_whole_training() -> None:
    view = published_view(workloads({"a": analysis({"main": TRAINING}, extrapolated_s=800.0)}))
    assert view.table["seconds"].sum() == pytest.approx(800)
    assert (view.time, view.left_out_s) == (TRAINING_TIME, 1.0)


def test_synchronisation_is_shown_on_its_own_where_it_has_time() -> None:
    """As in a run of RLlib, but not in a case study's figure."""
    synchronising = [("synchronisation", "backend", 2.0), *TRAINING]
    shown = workloads({"a": analysis({"main": synchronising})})
    own = published_view(shown).table
    assert own.loc[own["stage"] == "synchronisation", "seconds"].sum() == pytest.approx(2)
    assert set(transitions_view(shown)[0]["stage"]) == {"backpropagation", "simulation", "synchronisation"}
    without = workloads({"a": analysis({"main": TRAINING})})
    assert "synchronisation" not in set(published_view(without).table["stage"])


def corrected(found: Analysis) -> Analysis:
    """As if half of all time in the backend were what recording added."""
    breakdown = Rows(
        BreakdownRow,
        (
            replace(row, corrected_seconds=row.seconds * (0.5 if row.category == "backend" else 1.0))
            for row in found.breakdown
        ),
    )
    processes = Rows(ProcessRow, (replace(row, corrected_wall_s=6.0, uncorrectable_s=0.0) for row in found.processes))
    applied = AppliedCorrection("a test", "main", 1.44, 1.0, 1.9, (), {})
    return found.replaced(processes=processes, breakdown=breakdown, correction=applied, uncorrected="")


def test_figures_show_corrected_times_and_csv_has_the_recorded_ones_beside() -> None:
    """2 s of the simulator and 6 s of the backend, 3 s of which are recording: 5 of 8 s are left, of 800 s 500."""
    shown = workloads({"a": corrected(analysis({"main": TRAINING}, extrapolated_s=800.0))})
    table = published_view(shown).table.set_index("category")
    assert table.loc["backend", ["percent", "seconds", "training_s"]].tolist() == pytest.approx([60, 300, 500])
    recorded = ["uncorrected_percent", "uncorrected_seconds", "uncorrected_training_s"]
    assert table.loc["backend", recorded].tolist() == pytest.approx([75, 600, 800])
    assert set(table["corrected"]) == {"yes"}
    complete = complete_view(shown).table
    assert (complete["seconds"].sum(), complete["uncorrected_seconds"].sum()) == pytest.approx((6, 9))


def test_uncorrected_figures_have_the_recorded_times_only() -> None:
    table = published_view(workloads({"a": analysis({"main": TRAINING}, extrapolated_s=800.0)})).table
    assert table["seconds"].tolist() == table["uncorrected_seconds"].tolist()
    assert set(table["corrected"]) == {"no"}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([analysis({"main": TRAINING})], "Times are as recorded, with what recording added."),
        ([corrected(analysis({"main": TRAINING}))] * 2, "What recording added is subtracted: 1.4 % (1 to 1.9 %)."),
        (
            [corrected(analysis({"main": TRAINING})), analysis({"main": TRAINING})],
            "What recording added is subtracted: 1.4 % (1 to 1.9 %). Not of all traces: some have no calibration.",
        ),
    ],
)
def test_captions_say_whether_times_are_corrected(found: list[Analysis], said: str, tmp_path: Path) -> None:
    write_report({str(number): each for number, each in enumerate(found)}, tmp_path)
    page = (tmp_path / "figures.html").read_text()
    assert f"<figcaption>Share of training time per stage, category and resource. {said} <a" in page
    assert page.count(f"{said} <a") == 3


def test_one_unknown_length_makes_all_seconds_recorded_ones() -> None:
    known, unknown = analysis({"main": TRAINING}, extrapolated_s=800.0), analysis({"main": TRAINING})
    view = published_view(workloads({"known": known, "unknown": unknown}))
    assert view.time == RECORDED_TIME
    assert view.table.groupby("workload")["seconds"].sum().tolist() == [8.0, 8.0]


def test_the_complete_view_leaves_nothing_out() -> None:
    view = complete_view(workloads({"a": analysis({"main": TRAINING}, extrapolated_s=800.0)}))
    assert view.table["seconds"].sum() == 9.0
    assert view.left_out_s == 0


def test_transitions_are_per_iteration_where_all_workloads_know_theirs() -> None:
    known, unknown = analysis({"main": TRAINING}, extrapolated_s=800.0), analysis({"main": TRAINING})
    assert transitions_view(workloads({"a": known}))[1] == "per_iteration"
    assert transitions_view(workloads({"a": known, "b": unknown}))[1] == "count"
    assert transitions_view(workloads({"a": analysis({"main": IDLE})}))[0].empty


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["x/trace"], ["trace"]),
        (["x/a", "x/b"], ["a", "b"]),
        (["x/1/trace", "x/2/trace"], ["1/trace", "2/trace"]),
        (["x/a", "x/a"], ["a (1)", "a (2)"]),
    ],
)
def test_traces_are_named_as_shortly_as_possible(paths: list[str], expected: list[str]) -> None:
    assert names([Path(path) for path in paths]) == expected


def test_a_report_shows_figures_numbers_and_what_is_missing(tmp_path: Path) -> None:
    write_report(
        {"a<b": analysis({"main": TRAINING}, why=("main was killed",)), "c": analysis({"main": IDLE})}, tmp_path
    )
    page = (tmp_path / "figures.html").read_text()
    for stem in ("breakdown_percent", "breakdown_seconds", "complete", "transitions"):
        assert f'src="{stem}.png"' in page
        for suffix in ("pdf", "svg", "png", "csv"):
            assert (tmp_path / f"{stem}.{suffix}").stat().st_size > 0
    assert "main was killed" in page
    assert "a&lt;b" in page and "a<b" not in page
    assert "Times include what recording added: there is no calibration." in page


def test_a_report_of_a_trace_without_operations(tmp_path: Path) -> None:
    write_report({"a": analysis({"main": IDLE})}, tmp_path)
    page = (tmp_path / "figures.html").read_text()
    assert "No process spent time in a stage or in a training loop" in page
    assert (tmp_path / "complete.png").exists()
    assert not (tmp_path / "breakdown_percent.png").exists()


@pytest.fixture
def analyzed(monkeypatch: pytest.MonkeyPatch) -> None:
    def analyses(traces: Sequence[Path], recover: bool = False, correct: str = "none") -> dict[str, Analysis]:
        return {path.name: analysis({"main": TRAINING if path.name == "ppo" else IDLE}) for path in traces}

    monkeypatch.setattr("rlscope.cli.plot.analyze_traces", analyses)


def run(command: object, *arguments: object) -> object:
    """Run a command as `rlscope` does, with its errors as exceptions."""
    return CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)  # type: ignore[arg-type]


@pytest.mark.usefixtures("analyzed")
@pytest.mark.parametrize(
    "arguments", [["breakdown", "ppo"], ["transitions", "ppo"], ["breakdown", "none", "--view", "complete"]]
)
def test_plot_writes_one_figure(tmp_path: Path, arguments: list[str]) -> None:
    run(plot, *arguments, "-o", tmp_path / "new" / "figure.svg")
    assert (tmp_path / "new" / "figure.svg").read_text().startswith("<?xml")


@pytest.mark.usefixtures("analyzed")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["breakdown", "none", "-o", "figure.svg"], "--view complete"),
        (["transitions", "none", "-o", "figure.svg"], "no trace has transitions"),
        (["breakdown", "ppo", "-o", "figure.gif"], "expected a name that ends in"),
    ],
)
def test_plot_says_what_is_wrong(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(plot, *arguments)


def test_report_refuses_a_file_as_its_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="expected a directory or nothing, found a file"):
        run(report, "ppo", "-o", tmp_path / "file")


def test_report_writes_the_page_with_the_figures_beside_it_or_the_page_alone(tmp_path: Path) -> None:
    trace = write_script(parse_script((GOLDEN / "stages.trace.txt").read_text()), tmp_path / "trace").parent
    run(report, trace, "-o", tmp_path / "report")
    assert {"index.html", "figures.html", "complete.csv"} <= {file.name for file in (tmp_path / "report").iterdir()}
    run(report, trace, "-o", tmp_path / "alone" / "page.html")
    assert [file.name for file in (tmp_path / "alone").iterdir()] == ["page.html"]
    with_figures, alone = (tmp_path / name for name in ("report/index.html", "alone/page.html"))
    assert 'href="figures.html"' in with_figures.read_text() and "figures.html" not in alone.read_text()
    run(report, trace, "-o", alone)
    assert alone.read_text() == with_figures.read_text().replace('<a href="figures.html">Published figures</a>', "")


@pytest.mark.parametrize("times", ["1", "2:1", "1:1", "-1:2", "a:b", "nan:2", "1:inf"])
def test_a_window_has_two_times(times: str, tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="expected two times in seconds"):
        report.main(["trace", f"--focus={times}", "-o", str(tmp_path)], standalone_mode=False)


def test_both_pages_say_for_how_long_the_run_had_no_core(tmp_path: Path) -> None:
    trace = write_run(tmp_path / "trace", loop([{NO_CORE: 500}] * 3))
    finished = call_here("report", trace, "-o", tmp_path / "report")
    assert finished.returncode == 0, finished.stderr
    for name in ("index.html", "figures.html"):
        text = (tmp_path / "report" / name).read_text()
        assert "Processes waited for a core for 5 % of their time." in text, name


def test_a_page_escapes_what_it_is_given(tmp_path: Path) -> None:
    page = Page("<title>")
    page.heading("<heading>")
    page.paragraph("<paragraph>")
    page.warning("<warning>")
    page.link("<target>", "<text>")
    page.table(pd.DataFrame({"<column>": ["<cell>"]}))
    page.write(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    for word in ("title", "heading", "paragraph", "warning", "target", "text", "column", "cell"):
        assert f"&lt;{word}&gt;" in text
    assert "<cell>" not in text
