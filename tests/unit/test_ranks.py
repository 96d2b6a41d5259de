"""Ranks of a distributed training: exact values of what they waited for, of made traces, and sums of random ones."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_traces import MS, call, rank, trained

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.account.observations import straggler_sentences
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.document import document_of
from rlscope.analysis.ranks.stragglers import LEADS, PARTS
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.report.report_page import write_report
from rlscope.trace.reader import open_trace


def analyzed(writer: TraceWriter) -> Analysis:
    return analyze(open_trace(writer.write()))


def test_three_ranks(tmp_path: Path) -> None:
    """The last one makes the call at 18 ms; the first has done something else for 3 ms, then waited 5 ms for it."""
    writer = TraceWriter(tmp_path)
    for number, (called, waited, ended) in enumerate(((10, 13, 20), (18, 18, 21), (12, 12, 20))):
        process = rank(writer, number, 3)
        thread = process.thread()
        call(thread, 0, called, waited, ended)
        process.stop(30 * MS)
    analysis = analyzed(writer)
    assert [
        (
            row.process,
            row.count,
            row.matched,
            row.unwaited,
            row.bytes,
            row.late_s,
            row.hidden_s,
            row.wait_s,
            row.transfer_s,
        )
        for row in analysis.collectives
    ] == [
        ("rank 0", 1, 1, 0, 8, 0.0, 0.003, 0.005, 0.002),
        ("rank 1", 1, 1, 0, 8, 0.008, 0.0, 0.0, 0.003),
        ("rank 2", 1, 1, 0, 8, 0.002, 0.0, 0.006, 0.002),
    ]
    assert [(row.process, row.on, row.stream, row.count, row.wait_s) for row in analysis.dependencies] == [
        ("rank 0", "rank 1", "group:0", 1.0, pytest.approx(0.005)),
        ("rank 2", "rank 1", "group:0", 1.0, pytest.approx(0.006)),
    ]
    assert [
        (row.process, row.wall_s, row.compute_s, row.wait_s, row.transfer_s, row.other_wait_s) for row in analysis.ranks
    ] == [
        ("rank 0", 0.03, pytest.approx(0.023), pytest.approx(0.005), pytest.approx(0.002), 0.0),
        ("rank 1", 0.03, pytest.approx(0.027), 0.0, pytest.approx(0.003), 0.0),
        ("rank 2", 0.03, pytest.approx(0.022), pytest.approx(0.006), pytest.approx(0.002), 0.0),
    ]
    # Without rank 1's delay the call would still be made at 12 ms, so 6 ms could be saved.
    (straggler,) = analysis.stragglers
    assert (straggler.process, straggler.calls, straggler.late_s) == ("rank 1", 1, pytest.approx(0.006))
    assert straggler.others_wait_s == pytest.approx(0.0055)
    assert not straggler.stands_out  # one call shows nothing


def test_calls_that_are_not_in_all_ranks_are_not_matched(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    first, second, other = rank(writer, 0, 2), rank(writer, 1, 2), rank(writer, 2, 2, job="b:1")
    threads = [process.thread() for process in (first, second, other)]
    for thread in threads:
        call(thread, 0, 10, 10, 20)
    call(threads[0], 1, 30, 30, 40)  # the second rank was not recorded then
    call(threads[0], 2, 50, 50, 60)
    call(threads[1], 2, 50, 50, 60, name="torch.distributed.barrier group:0")  # another call: the program is wrong
    threads[1].collective(70 * MS, "torch.distributed.broadcast group:7", 0, 70 * MS, None)  # of which nothing is known
    for process in (first, second, other):
        process.stop(100 * MS)
    found = {(row.process, row.operation): (row.count, row.matched) for row in analyzed(writer).collectives}
    assert found == {
        ("rank 0", "all_reduce"): (3, 1), ("rank 1", "all_reduce"): (1, 1), ("rank 1", "barrier"): (1, 0),
        ("rank 1", "broadcast"): (1, 0), ("rank 2", "all_reduce"): (1, 0),
    }  # fmt: skip


def test_a_message_is_matched_with_its_receive(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    pair = {"communicator group:0:0>1": {"ranks": [0, 1], "job": "a:1"}}
    for number, (function, called, ended) in enumerate((("send", 40, 41), ("recv", 10, 42))):
        process = rank(writer, number, 2)
        process.properties(pair)
        call(process.thread(), 0, called, called, ended, name=f"torch.distributed.{function} group:0:0>1")
        process.stop(50 * MS)
    analysis = analyzed(writer)
    assert {(row.operation, row.matched, row.wait_s) for row in analysis.collectives} == {
        ("send", 1, 0.0), ("recv", 1, 0.03),
    }  # fmt: skip
    (edge,) = analysis.dependencies
    assert (edge.process, edge.on) == ("rank 1", "rank 0")


def test_a_straggler_stands_out(tmp_path: Path) -> None:
    """It is late by 2 ms in each of 40 steps of 13 ms."""
    analysis = analyzed(trained(tmp_path, 2))
    (row,) = analysis.stragglers
    assert (row.process, row.calls, row.leads, row.stands_out) == ("rank 1", 40, 1.0, True)
    assert (row.late_s, row.per_iteration_s, row.others_wait_s) == pytest.approx((0.08, 0.002, 0.08))
    assert row.span_s == pytest.approx(40 * 0.013 - 0.010)
    assert (row.cause, row.stage, row.cause_s) == ("python", "training_loop", pytest.approx(0.08))
    (said,) = straggler_sentences(analysis.stragglers)
    assert [fact in said for fact in ("rank 1", "2 ms", "80 ms", "16 %", "1.19")] == [True] * 5


def test_terminal_and_report_show_ranks(tmp_path: Path) -> None:
    trace = trained(tmp_path / "trace", 2).write()
    shown = CliRunner().invoke(analyze_verb, [str(trace), "--all", "--correct", "none"])
    assert shown.exit_code == 0, shown.output
    table = shown.output.split("What each rank did with its time\n")[1].split("\n\n")[0].splitlines()
    assert [line.split() for line in table] == [
        ["process", "wall_s", "compute_s", "wait_s", "transfer_s", "other_wait_s"],
        ["rank", "0", "0.52", "0.4", "0.08", "0.04", "0"],
        ["rank", "1", "0.52", "0.48", "0", "0.04", "0"],
    ]
    assert "python in training_loop" in shown.output.split("Ranks that kept the others waiting\n")[1]
    write_report({"trace": analyze(open_trace(trace))}, tmp_path)
    assert all((tmp_path / f"fig_ranks.{kind}").stat().st_size > 0 for kind in ("pdf", "svg", "png"))
    svg = (tmp_path / "fig_ranks.svg").read_text()
    assert all(text in svg for text in ("rank 0", "rank 1", "Waiting for the last rank"))
    page = (tmp_path / "figures.html").read_text()
    assert "fig_ranks" in page and "stragglers.csv" in page


def test_equal_ranks_have_no_straggler(tmp_path: Path) -> None:
    assert not [row for row in analyzed(trained(tmp_path, 0)).stragglers if row.stands_out]


def test_one_long_delay_is_no_straggler(tmp_path: Path) -> None:
    """All of it lies in one of the parts into which calls are divided."""
    writer = TraceWriter(tmp_path)
    for number in range(2):
        process = rank(writer, number, 2)
        thread = process.thread()
        for step in range(2 * PARTS):
            begin, late = 10 * step, number == 1 and step == 7
            call(thread, step, begin + (8 if late else 1), begin + (8 if late else 1), begin + 9)
        process.stop(10 * 2 * PARTS * MS)
    (row,) = [row for row in analyzed(writer).stragglers if row.process == "rank 1"]
    assert (row.leads, row.stands_out) == (1 / PARTS, False)
    assert row.leads < LEADS


TIMES = st.lists(st.integers(0, 50), min_size=3, max_size=3).map(sorted)


@given(st.lists(st.lists(TIMES, min_size=2, max_size=3), min_size=1, max_size=6))
@settings(deadline=None)
def test_times_sum(tmp_path_factory: pytest.TempPathFactory, ranks: list[list[list[int]]]) -> None:
    """Of each rank hidden, wait and transfer sum to what its calls took, and its time to its wall time."""
    writer = TraceWriter(tmp_path_factory.mktemp("ranks"))
    for number, calls in enumerate(ranks):
        process = rank(writer, number, len(ranks))
        thread = process.thread()
        for step, (called, waited, ended) in enumerate(calls):
            call(thread, step, 60 * step + called, 60 * step + waited, 60 * step + ended)
        process.stop(200 * MS)
    analysis = analyzed(writer)
    matched = min(map(len, ranks))
    for number, row in enumerate(analysis.collectives):
        own = ranks[number][:matched]
        assert (row.count, row.matched) == (len(ranks[number]), matched)
        assert row.hidden_s == pytest.approx(sum(waited - called for called, waited, _ in own) / 1e3)
        assert row.wait_s + row.transfer_s == pytest.approx(sum(ended - waited for _, waited, ended in own) / 1e3)
        last = [max(calls[step][0] for calls in ranks) for step in range(matched)]
        assert row.late_s == pytest.approx(
            sum(each[0] - min(calls[step][0] for calls in ranks) for step, each in enumerate(own)) / 1e3
        )
        assert row.wait_s == pytest.approx(
            sum(max(0, min(ended, at) - waited) for at, (_, waited, ended) in zip(last, own, strict=True)) / 1e3
        )
    for each in analysis.ranks:
        parts = (each.compute_s, each.wait_s, each.transfer_s, each.other_wait_s)
        assert min(parts) >= -1e-12
        assert sum(parts) == pytest.approx(each.wall_s)
    for straggler in analysis.stragglers:
        assert 0 <= straggler.late_s <= straggler.span_s
        assert 0 <= straggler.leads <= 1
    json.dumps(document_of(analysis))


@pytest.mark.parametrize(
    "value", [None, 7, {}, {"ranks": "0", "job": ""}, {"ranks": [0, None], "job": ""}, {"ranks": [0], "job": 1}]
)
def test_what_a_trace_says_of_communicators_may_be_anything(tmp_path: Path, value: object) -> None:
    writer = TraceWriter(tmp_path)
    process = writer.process(pid=1)
    process.properties({"communicator group:0": value})
    call(process.thread(), 0, 1, 2, 3)
    process.stop(5 * MS)
    (row,) = analyzed(writer).collectives
    assert (row.count, row.matched) == (1, 0)
