"""Ranks on devices: exact values of what NCCL's kernels waited for, of made traces."""

from pathlib import Path

import pytest
from pieces import bounds
from rank_traces import ALL_REDUCE, MS, DeviceStep, call, on_devices, rank

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.account.observations import straggler_sentences
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.model import DeviceWork
from rlscope.report.report_page import write_report
from rlscope.trace.reader import open_trace

#: Rank 1 computes for 4 ms longer. Rank 0's kernel starts at 6 ms beside the last 2 ms of computing, and waits for it
#: from 8 ms to 10 ms; both take 3 ms after that.
LATE = [DeviceStep((2, 8), (6, 13)), DeviceStep((2, 10), (10, 13))]


def analyzed(writer: TraceWriter) -> Analysis:
    return analyze(open_trace(writer.write()))


def near(*seconds: float) -> list[float]:
    return [pytest.approx(each, abs=1e-9) for each in seconds]


def test_a_late_rank_is_found_on_its_device(tmp_path: Path) -> None:
    """Both CPUs make each call at once, so their times say nothing of who was late."""
    analysis = analyzed(on_devices(tmp_path, LATE))
    assert [
        (row.process, row.operation, row.count, row.matched, row.late_s, row.hidden_s, row.wait_s, row.transfer_s)
        for row in analysis.collective_kernels
    ] == [
        ("rank 0", "all_reduce", 40, 40, *near(0.0, 0.08, 0.08, 0.12)),
        ("rank 1", "all_reduce", 40, 40, *near(0.16, 0.0, 0.0, 0.12)),
    ]
    assert [
        (row.process, row.device, row.wall_s, row.compute_s, row.wait_s, row.transfer_s, row.idle_s)
        for row in analysis.device_ranks
    ] == [
        ("rank 0", 0, *near(0.8, 0.24, 0.08, 0.12, 0.36)),
        ("rank 1", 1, *near(0.8, 0.32, 0.0, 0.12, 0.36)),
    ]
    (straggler,) = analysis.stragglers
    assert (straggler.process, straggler.calls, straggler.stands_out) == ("rank 1", 40, True)
    assert straggler.per_iteration_s == pytest.approx(0.002)
    assert len([*straggler_sentences(analysis.stragglers)]) == 1


def test_spinning_kernels_are_no_overlap(tmp_path: Path) -> None:
    """A device that only waits for another one is not what bounds the run beside a CPU that works."""
    analysis = analyzed(on_devices(tmp_path, [DeviceStep((2, 4), (4, 18)), DeviceStep((2, 15), (15, 18))]))
    assert analysis.path is not None
    seconds = bounds(analysis.path)
    assert seconds["communication"] > 0 and "overlap" not in seconds


def test_the_parts_of_device_time_sum_to_wall(tmp_path: Path) -> None:
    for row in analyzed(on_devices(tmp_path, LATE)).device_ranks:
        assert row.compute_s + row.wait_s + row.transfer_s + row.idle_s == pytest.approx(row.wall_s, abs=1e-9)


def test_equal_devices_have_no_straggler(tmp_path: Path) -> None:
    equal = [DeviceStep((2, 8), (8, 11))] * 2
    assert not any(row.stands_out for row in analyzed(on_devices(tmp_path, equal)).stragglers)


def test_reports_show_devices_of_ranks(tmp_path: Path) -> None:
    analysis = analyzed(on_devices(tmp_path / "trace", LATE))
    (tmp_path / "report").mkdir()
    write_report({"trace": analysis}, tmp_path / "report")
    assert analysis.device_ranks
    assert (tmp_path / "report" / "fig_device_ranks.png").exists()
    assert (tmp_path / "report" / "collective_kernels.csv").exists()


@pytest.mark.parametrize(
    ("kernels", "matched"),
    [
        pytest.param(([ALL_REDUCE] * 3, [ALL_REDUCE] * 3), 3, id="all are there"),
        pytest.param(([ALL_REDUCE] * 3, [ALL_REDUCE] * 2), 2, id="the last is lost"),
        pytest.param((["ncclDevKernel_AllGather_RING_LL"] * 3, [ALL_REDUCE] * 3), 0, id="they do something else"),
        pytest.param((["ncclDevKernel_Generic_4"] * 3, ["ncclDevKernel_Generic_4"] * 3), 3, id="they may do anything"),
    ],
)
def test_kernels_are_matched_by_order(kernels: tuple[list[str], list[str]], matched: int, tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    for number, names in enumerate(kernels):
        process = rank(writer, number, 2)
        thread = process.thread()
        queue = process.queue(0)
        for place, name in enumerate(names):
            call(thread, place, 10 * place, 10 * place, 10 * place + 1)
            queue.record(DeviceWork.KERNEL, (10 * place + 2 + number) * MS, (10 * place + 8) * MS, name)
        process.stop(50 * MS)
    rows = analyzed(writer).collective_kernels
    assert {row.process: row.matched for row in rows if row.matched} == (
        {"rank 0": matched, "rank 1": matched} if matched else {}
    )
    assert sum(row.count for row in rows) == sum(map(len, kernels))


def test_kernels_of_groups_that_cannot_be_told_apart_are_not_matched(tmp_path: Path) -> None:
    """Two groups of the same ranks, of which both called as much: nobody knows whose the kernels of a queue are."""
    writer = TraceWriter(tmp_path)
    for number in range(2):
        process = rank(writer, number, 2)
        process.properties({"communicator group:1": {"ranks": [0, 1], "job": "a:1"}})
        thread = process.thread()
        for group in range(2):
            call(thread, 0, 2 * group, 2 * group, 2 * group + 1, f"torch.distributed.all_reduce group:{group}")
            process.queue(0).record(DeviceWork.KERNEL, (5 + 5 * group) * MS, (8 + 5 * group) * MS, ALL_REDUCE)
        process.stop(50 * MS)
    analysis = analyzed(writer)
    assert {(row.communicator, row.count, row.matched) for row in analysis.collective_kernels} == {("(unknown)", 2, 0)}
    assert [row.transfer_s for row in analysis.device_ranks] == pytest.approx([0.006, 0.006])


def test_a_group_is_known_by_what_it_calls(tmp_path: Path) -> None:
    """Of two groups one gathers and the other one reduces, each on a queue of its own."""
    writer = TraceWriter(tmp_path)
    for number in range(2):
        process = rank(writer, number, 2)
        process.properties({"communicator group:1": {"ranks": [0, 1], "job": "a:1"}})
        thread = process.thread()
        call(thread, 0, 0, 0, 1)
        call(thread, 0, 2, 2, 3, "torch.distributed.all_gather group:1")
        process.queue(0).record(DeviceWork.KERNEL, 5 * MS, 8 * MS, ALL_REDUCE)
        process.queue(0).record(DeviceWork.KERNEL, 6 * MS, 9 * MS, "ncclDevKernel_AllGather_RING_LL")
        process.stop(50 * MS)
    rows = [(row.process, row.communicator, row.matched) for row in analyzed(writer).collective_kernels]
    assert rows == [(f"rank {number}", f"group:{group}", 1) for number in range(2) for group in range(2)]
