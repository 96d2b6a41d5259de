"""What bounds loops of one's own: all of the loop counts, waits have a name, threads that work at once are said."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.trace_writer import ThreadWriter, TraceWriter
from rlscope.analysis.account.kinds import Bound
from rlscope.analysis.advice.advice import Advice
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.correction.corrected import AppliedCorrection
from rlscope.analysis.rows import Rows
from rlscope.analysis.table_rows import ProcessRow
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.model import STAGES, Category
from rlscope.report.process_tables import waits_shown
from rlscope.report.report_page import write_report
from rlscope.report.sentences import correction_lines
from rlscope.report.workloads import published_view, workloads
from rlscope.trace.reader import open_trace

S = 1_000_000_000
SLEEP = "time.sleep"
FULL_QUEUE = "_multiprocessing.SemLock.acquire"
Piece = tuple[float, str, str]  # seconds, operation or "", function that waits or ""


def write_pieces(thread: ThreadWriter, pieces: Sequence[Piece], now: int = 0) -> int:
    """One after the other; an operation called `report` is a report of progress instead. Returns when they end."""
    timesteps = 0
    for seconds, operation, function in pieces:
        end = now + round(seconds * S)
        if operation == "report":
            timesteps += 1
            thread.progress(now, timesteps, 1000)
            continue
        if operation:
            thread.begin_operation(now, operation)
        if function:
            thread.boundary(now, end, Category.WAIT, function)
        if operation:
            thread.end(end)
        now = end
    return now


def analyzed(directory: Path, **processes: Sequence[Piece]) -> Analysis:
    writer = TraceWriter(directory)
    for pid, (name, pieces) in enumerate(processes.items(), start=1):
        process = writer.process(pid=pid, name=name)
        process.stop(write_pieces(process.thread(), pieces))
    return analyze(open_trace(writer.write_complete()))


def advised(directory: Path, **processes: Sequence[Piece]) -> Advice:
    advice = analyzed(directory, **processes).advice
    assert advice is not None
    return advice


REPORT = (0.0, "report", "")
#: 100 iterations in 40 s: 4 s of simulation, 6 s of backpropagation, and 30 s of sleep between them.
ITERATION = ((0.04, "simulation", ""), (0.3, "", SLEEP), (0.06, "backpropagation", ""), REPORT)
LOOP = ((5.0, "", ""), *ITERATION * 100, (2.0, "", ""))


@pytest.mark.parametrize("reports", [True, False])
def test_sleep_between_the_stages_of_a_loop_is_named_first(tmp_path: Path, reports: bool) -> None:
    advice = advised(tmp_path, main=[piece for piece in LOOP if reports or piece != REPORT])
    assert (advice.total_s, advice.cause, advice.seconds) == (pytest.approx(40), Bound.WAITING, pytest.approx(30))
    assert advice.text.startswith(
        "time.sleep (timer), 100 calls of 300 ms, 30 s (75 % of the loop) between stages: without it at most 4 times "
        "as fast. Bound by waiting: 30 s of 40 s (75 % of the loop), in no stage"
    )
    (slept,) = advice.waits
    assert (slept.function, slept.count, slept.is_for_process) == (SLEEP, 100, False)
    assert (slept.seconds, slept.between_s) == (pytest.approx(30), pytest.approx(30))
    assert "Left out of main: 5 s before the training loop, as starting up, and 2 s after it, as ending." in advice.text
    savings = {change.name: change.saving_s for change in advice.changes}
    assert savings["compile the update"] == pytest.approx(6)


def test_all_of_the_loop_counts_from_its_first_stage_on(tmp_path: Path) -> None:
    """Also the iteration before the first report, and what lies between the last stage and the last report."""
    advice = advised(
        tmp_path, main=[(9.0, "", ""), (1.0, "simulation", ""), (2.0, "", SLEEP), REPORT, (3.0, "", SLEEP), REPORT]
    )
    assert (advice.total_s, advice.seconds) == (pytest.approx(6), pytest.approx(5))
    assert "9 s before the training loop, as starting up." in advice.text


def test_what_is_in_no_stage_after_the_first_update_is_said_with_how_to_name_it(tmp_path: Path) -> None:
    update = (1.0, "backpropagation", "")
    advice = advised(tmp_path, main=[(4.0, "", ""), update, (3.0, "", ""), (1.0, "sample_batch", ""), update])
    assert advice.total_s == pytest.approx(6)
    assert (
        "4 s (67 % of the loop) are in no stage (between stages 3 s, sample_batch 1 s), so no change covers them."
        in advice.text
    )
    assert "rlscope record --operation simulation=MODULE:FUNCTION" in advice.text
    assert 'with rlscope.operation("simulation"):' in advice.text
    assert "Left out of main: 4 s before the training loop, as starting up." in advice.text


def test_a_training_loop_of_a_library_is_not_stretched_by_what_is_called_outside(tmp_path: Path) -> None:
    """An environment that is checked before, and an evaluation after it."""
    pieces = [
        (1.0, "simulation", ""),
        (8.0, "", ""),
        (10.0, "training_loop", ""),
        (5.0, "", ""),
        (1.0, "inference", ""),
    ]
    advice = advised(tmp_path, main=pieces)
    assert advice.total_s == pytest.approx(12)
    assert "8 s before the training loop, as starting up, and 5 s after it, as ending." in advice.text


def test_figures_draw_no_stage_longer_than_it_was(tmp_path: Path) -> None:
    """Of 1000 timesteps in 400 s, 60 are backpropagation: not 240, its share of what has a name."""
    analysis = analyzed(tmp_path / "trace", main=LOOP)
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


def test_who_waits_for_a_full_queue_is_not_bound_by_what_it_does(tmp_path: Path) -> None:
    """An actor beside a learner that takes longer: the queue between them is full, its other end not recorded."""
    actor = [(0.2, "inference", ""), (0.1, "simulation", ""), (0.7, "", FULL_QUEUE)] * 10
    advice = advised(tmp_path, learner=[(0.9, "backpropagation", ""), (0.1, "", "")] * 10, actor=actor)
    assert (advice.process, advice.causes[0].stage) == ("learner", "backpropagation")
    of_actor = advised(tmp_path / "alone", actor=actor)
    assert (of_actor.cause, of_actor.seconds) == (Bound.WAITING, pytest.approx(6.3))
    waited = f"{FULL_QUEUE} (lock), 9 calls of 700 ms, 6.3 s (68 % of the loop) between stages: without it"
    assert waited in of_actor.text


def test_who_writes_to_a_pipe_waits_for_who_reads_from_it(tmp_path: Path) -> None:
    advice = advised(
        tmp_path,
        main=[(4.0, "simulation", "posix.write pipe:[7]"), (4.0, "backpropagation", "")],
        worker=[(3.5, "simulation", ""), (0.0, "", "posix.read pipe:[7]")],
    )
    assert "main waited 4 s for worker, which needed 3.5 s" in advice.text
    assert "posix.write" not in advice.text


def test_the_process_that_reports_progress_paces_the_run(tmp_path: Path) -> None:
    worker = [(12.0, "simulation", "")]
    assert advised(tmp_path, main=LOOP, worker=worker).process == "main"


def test_the_table_of_waits_says_for_whom(tmp_path: Path) -> None:
    main = [(4.0, "simulation", "posix.read pipe:[7]"), (1.0, "", SLEEP), (3.0, "simulation", "posix.read pipe:[8]")]
    sent = {f"worker_{number}": [(0.0, "", f"posix.write pipe:[{number}]"), (8.0, "", "")] for number in (7, 8)}
    analysis = analyzed(tmp_path, main=main, **sent)
    assert [list(row.values()) for row in waits_shown(analysis)] == [
        ["main", "posix.read", "pipe", "worker_7 and 1 more", 2, 7.0, 7.0, 87.5],
        ["main", SLEEP, "timer", "-", 1, 1.0, 1.0, 12.5],
    ]
    output = CliRunner().invoke(analyze_verb, [str(tmp_path)], catch_exceptions=False).output
    assert "Waits" in output and "worker_7 and 1" in output


def two_threads(directory: Path, main: Sequence[Piece], beside: Sequence[Piece]) -> Advice | None:
    """The run ends with the main thread, as that of a learner beside actors."""
    writer = TraceWriter(directory)
    process = writer.process(pid=1, name="main")
    end = write_pieces(process.thread(), main)
    write_pieces(process.thread(), beside)
    process.stop(end)
    return analyze(open_trace(writer.write_complete())).advice


def test_no_factor_where_threads_work_beside_each_other(tmp_path: Path) -> None:
    """The learner paces; to be rid of all that the actor does saves nothing."""
    advice = two_threads(tmp_path, [(0.1, "backpropagation", "")] * 100, [(9.9, "simulation", "")])
    assert advice is not None
    assert advice.beside_s == pytest.approx(9.9)
    assert (advice.changes, advice.stands_out) == ((), False)
    assert "times as fast" not in advice.text and "Bound by" not in advice.text
    assert "Two or more threads were busy at once for 9.9 s (99 % of the loop)" in advice.text
    assert "rlscope analyze --by thread,stage" in advice.text


def test_a_thread_that_waits_for_another_one_leaves_the_advice_as_it_is(tmp_path: Path) -> None:
    lock = "_thread.lock.acquire"
    advice = two_threads(
        tmp_path,
        [(4.0, "training_loop", lock), (4.0, "backpropagation", "")],
        [(4.0, "simulation", ""), (4.0, "simulation", lock)],
    )
    assert advice is not None and advice.beside_s == 0
    assert {change.name: change.saving_s for change in advice.changes}["compile the update"] == pytest.approx(4)


PIECES = st.lists(
    st.tuples(
        st.integers(1, 30).map(lambda tenths: tenths / 10),
        st.sampled_from([*STAGES, "training_loop"]),
        st.sampled_from(["", "", "", SLEEP]),
    ),
    max_size=5,
)
OF_STAGE = {
    "batch inference": "inference",
    "step environments asynchronously": "simulation",
    "move the simulation to the device": "simulation",
    "synchronise weights beside the rest": "synchronisation",
}


@given(PIECES, PIECES, st.integers(0, 300))
@settings(max_examples=40, deadline=None)
def test_bounds_hold_with_two_threads(main: list[Piece], beside: list[Piece], idle: int) -> None:
    """Whichever thread does what: the run, which ends with main, gets no shorter than a factor says it may."""
    with TemporaryDirectory() as directory:
        advice = two_threads(Path(directory), main, [(idle / 10, "", "_thread.lock.acquire"), *beside])
    if advice is None:
        return

    def lasts_s(without: Callable[[Piece], bool]) -> float:
        return sum(piece[0] for piece in main if not without(piece))

    run_s = lasts_s(lambda piece: False)
    for change in advice.changes:
        if change.name in OF_STAGE:
            saved_s = run_s - lasts_s(lambda piece, stage=OF_STAGE[change.name]: piece[1] == stage)
        elif change.name == "overlap rollout and training":
            rollout_s = sum(piece[0] for piece in main if piece[1] in ("simulation", "inference"))
            saved_s = min(rollout_s, sum(piece[0] for piece in main if piece[1] == "backpropagation"))
        else:
            saved_s = run_s - lasts_s(lambda piece: piece[1] == "backpropagation" and not piece[2])
        assert change.saving_s >= saved_s - 1e-6
    if advice.beside_s >= 0.05 * advice.total_s:
        assert not advice.changes and "times as fast" not in advice.text


def test_phases_alone_do_not_say_where_the_loop_is(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process = writer.process(pid=1)
    thread = process.thread()
    for start in (0, 6):
        thread.phase(start * S, (start + 4) * S, "collect")
    process.stop(10 * S)
    advice = analyze(open_trace(writer.write_complete())).advice
    assert advice is not None and advice.total_s == pytest.approx(8)
    assert "Left out of main: 2 s in no phase." in advice.text


@pytest.mark.parametrize(("uncorrectable_s", "is_said"), [(1e-5, False), (0.1, True)])
def test_overhead_that_stays_is_said_from_a_hundredth_on(tmp_path: Path, uncorrectable_s: float, is_said: bool) -> None:
    analysis = analyzed(tmp_path, main=LOOP)
    processes = Rows(
        ProcessRow,
        (replace(row, corrected_wall_s=row.wall_s - 1, uncorrectable_s=uncorrectable_s) for row in analysis.processes),
    )
    corrected = analysis.replaced(
        processes=processes, correction=AppliedCorrection("here", "main", 2.0, 1.0, 3.0, (), {})
    )
    assert any("and stay" in line for line in correction_lines(corrected)) == is_said
