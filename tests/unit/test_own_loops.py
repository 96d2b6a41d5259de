"""Loops of one's own: figures, the table of waits, and notes have all of the loop, and say what is in no stage."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pieces import Piece, traced

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.account.observations import notes
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.correction.corrected import AppliedCorrection
from rlscope.analysis.rows import Rows
from rlscope.analysis.table_rows import ProcessRow
from rlscope.model import Category
from rlscope.report.process_tables import waits_shown
from rlscope.report.report_page import write_report
from rlscope.report.sentences import correction_lines
from rlscope.report.workloads import published_view, workloads
from rlscope.trace.reader import open_trace

S = 1_000_000_000


def analyzed(directory: Path, **processes: Sequence[Piece]) -> Analysis:
    return analyze(open_trace(traced(directory, processes)))


def wait(seconds: float, operation: str, name: str) -> Piece:
    return Piece(seconds, operation, Category.WAIT, name)


def looped(directory: Path) -> Analysis:
    """100 iterations in 40 s: 4 s of simulation, 6 s of backpropagation, and 30 s of sleep between them."""
    process = (writer := TraceWriter(directory)).process(pid=1, name="main")
    thread, now = process.thread(), 5 * S
    for number in range(100):
        thread.operation(now, now + S // 25, "simulation")
        thread.boundary(now + S // 25, now + 34 * S // 100, Category.WAIT, "time.sleep")
        thread.operation(now + 34 * S // 100, now + 40 * S // 100, "backpropagation")
        now += 40 * S // 100
        thread.progress(now, number + 1, 1000)
    process.stop(now + 2 * S)
    return analyze(open_trace(writer.write_complete()))


def test_figures_draw_no_stage_longer_than_it_was(tmp_path: Path) -> None:
    """Of 1000 timesteps in 400 s, 60 are backpropagation: not 240, its share of what has a name."""
    analysis = looped(tmp_path / "trace")
    assert analysis.extrapolated_s == pytest.approx(400)
    view = published_view(workloads({"a": analysis}))
    seconds = view.table.groupby("stage")["seconds"].sum().to_dict()
    assert seconds == {
        "backpropagation": pytest.approx(60), "simulation": pytest.approx(40), "between stages": pytest.approx(300),
    }  # fmt: skip
    between = view.table[view.table["stage"] == "between stages"]
    assert between[["category", "resource"]].values.tolist() == [["wait", "idle"]]
    assert view.left_out_s == pytest.approx(7)
    (tmp_path / "report").mkdir()
    write_report({"a": analysis}, tmp_path / "report")
    page = (tmp_path / "report" / "figures.html").read_text()
    assert "Left out: 7 s before and after training." in page
    assert "Between stages" in (tmp_path / "report" / "breakdown_percent.svg").read_text()
    assert (tmp_path / "report" / "waits.csv").exists()


def test_the_table_of_waits_says_for_whom(tmp_path: Path) -> None:
    main = [
        wait(4, "simulation", "posix.read pipe:[7]"), wait(1, "", "time.sleep"),
        wait(3, "simulation", "posix.read pipe:[8]"),
    ]  # fmt: skip
    sent = {f"worker_{number}": [wait(0, "", f"posix.write pipe:[{number}]"), Piece(8)] for number in (7, 8)}
    assert [list(row.values()) for row in waits_shown(analyzed(tmp_path, main=main, **sent))] == [
        ["main", "posix.read", "pipe", "worker_7 and 1 more", 2, 7.0, 7.0, 87.5],
        ["main", "time.sleep", "timer", "-", 1, 1.0, 1.0, 12.5],
    ]


def test_what_is_in_no_stage_is_noted_with_how_to_name_it(tmp_path: Path) -> None:
    """4 of 6 s: 3 between operations, 1 in one of another name; what is before the loop is in none either."""
    update = Piece(1, "backpropagation")
    (note,) = notes(analyzed(tmp_path, main=[Piece(4), update, Piece(3), Piece(1, "sample_batch"), update]))
    assert [part in note for part in ("4 s", "3 s", "sample_batch 1 s", "--operation simulation=MODULE:FUNCTION")] == (
        [True] * 4
    )


def test_what_has_a_stage_or_a_purpose_needs_no_note(tmp_path: Path) -> None:
    main = [Piece(1, "simulation"), Piece(5, "log"), Piece(1, "backpropagation")]
    assert notes(analyzed(tmp_path, main=main)) == []


def test_threads_that_work_beside_each_other_are_noted(tmp_path: Path) -> None:
    process = (writer := TraceWriter(tmp_path)).process(pid=1)
    for operation in ("backpropagation", "simulation"):
        process.thread().operation(0, 10 * S, operation)
    process.stop(10 * S)
    (note,) = notes(analyze(open_trace(writer.write_complete())))
    assert "10 s" in note and "--by thread,stage" in note


def test_a_run_without_operations_is_noted(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, main=[Piece(3)])
    assert len(notes(analysis)) == 1
    assert [row.cause for row in analysis.account] == ["no_loop"]


@pytest.mark.parametrize(("uncorrectable_s", "is_said"), [(1e-5, False), (0.1, True)])
def test_overhead_that_stays_is_said_from_a_hundredth_on(tmp_path: Path, uncorrectable_s: float, is_said: bool) -> None:
    analysis = looped(tmp_path)
    processes = Rows(
        ProcessRow,
        (replace(row, corrected_wall_s=row.wall_s - 1, uncorrectable_s=uncorrectable_s) for row in analysis.processes),
    )
    corrected = analysis.replaced(
        processes=processes, correction=AppliedCorrection("here", "main", 2.0, 1.0, 3.0, (), {})
    )
    assert any("and stay" in line for line in correction_lines(corrected)) == is_said
