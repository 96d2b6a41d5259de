"""The tables of devices: one trace by hand, the union over processes against brute force, what is missing, names."""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.trace_writer import TraceWriter
from rlscope._analysis import device_union, sweep
from rlscope.analysis.analysis import analyze
from rlscope.analysis.contents import read_contents
from rlscope.analysis.document import document_of
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.cli.inspect import inspect as inspect_verb
from rlscope.errors import TraceFormatError
from rlscope.model import Category, DeviceWork, GpuAttribution
from rlscope.report.remarks import device_lines
from rlscope.trace import format as fmt
from rlscope.trace.reader import open_trace
from rlscope.trace.utilization_file import HEADER, UTILIZATION_NAME
from rlscope.version import FORMAT_VERSION

KERNEL = "_ZN2at6native13reduce_kernelILi512ELi1EEEvPf"
SHOWN_KERNEL = "void at::native::reduce_kernel<512, 1>(float*)"
CUDA = {"driver_version": 13000, "cupti_version": 130001, "cupti_path": "/lib/libcupti.so.13", "state": "recorded"}

#: Of a device that never communicates with others.
NONE = {"communication_s": 0.0, "exposed_s": 0.0}


def device(uuid: str) -> dict[str, str]:
    return {"uuid": uuid, "name": "NVIDIA H200", "compute_capability": "9.0"}


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A trainer that uses two devices and a worker that calls the second one its first; all of them for 1000 ns."""
    writer = TraceWriter(tmp_path / "trace")
    trainer = writer.process(pid=7, start_ticks=5_000)
    trainer.properties({"process_name": "trainer", "devices": {"0": device("GPU-a"), "1": device("GPU-b")}})
    trainer.properties({"cuda": CUDA})
    main = trainer.thread()
    main.begin_operation(5_000, "inference")
    main.begin_operation(5_050, "act")
    main.boundary(5_100, 5_150, Category.CUDA, "cudaLaunchKernel")
    main.end(5_200)
    main.boundary(5_300, 5_500, Category.CUDA_WAIT, "cudaStreamSynchronize")
    main.end(5_900)
    act = trainer.launch_site("act", "inference", stream=0)
    for number, start in ((0, 5_150), (1, 5_100)):
        queue = trainer.queue(number)
        queue.record(DeviceWork.KERNEL, start, start + 200, KERNEL, act)
        queue.record(
            DeviceWork.COPY, start + 100, start + 300, "memcpy DtoH", trainer.launch_site("act", "simulation"), 64
        )
    trainer.stop(6_000)
    worker = writer.process(pid=8, parent_pid=7, start_ticks=5_000)
    worker.properties({"process_name": "worker", "devices": {"0": device("GPU-b")}, "cuda": CUDA})
    worker.thread()
    worker.queue(0).record(DeviceWork.KERNEL, 5_300, 5_500, "step")
    worker.stop(6_000)
    writer.write_complete()
    (tmp_path / "trace" / UTILIZATION_NAME).write_text(f"{HEADER}\n5000,GPU-b,1.0,\n6000,GPU-b,0.75,1024\n")
    return tmp_path / "trace"


def test_document(shared: Path) -> None:
    document = json.loads(json.dumps(document_of(analyze(open_trace(shared)))))
    assert document["complete"] is True
    assert document["gpu"] == [
        {"device": 0, "uuid": "GPU-a", "busy_s": 3e-7, **NONE, "kernel_s": 2e-7, "reported_utilization": None},
        # 5100-5400 of the trainer and 5300-5500 of the worker.
        {"device": 1, "uuid": "GPU-b", "busy_s": 4e-7, **NONE, "kernel_s": 4e-7, "reported_utilization": 0.75},
    ]
    # An operation has one row, whatever the stages in which it launched work.
    assert document["gpu_operations"] == [
        {"process": "trainer", "device": 0, "operation": "act", "busy_s": 3e-7, "exposed_s": 0.0, "kernels": 1},
        {"process": "trainer", "device": 1, "operation": "act", "busy_s": 3e-7, "exposed_s": 0.0, "kernels": 1},
        {"process": "worker", "device": 1, "operation": "(none)", "busy_s": 2e-7, "exposed_s": 0.0, "kernels": 1},
    ]
    assert "device_work" not in document


NCCL = "_Z37ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"


def test_communication_is_apart(tmp_path: Path) -> None:
    """Of two processes that share a device one communicates while the other one computes; neither alone does so."""
    writer = TraceWriter(tmp_path)
    reducing, computing = (writer.process(pid=pid, start_ticks=5_000) for pid in (7, 8))
    for process in (reducing, computing):
        process.properties({"devices": {"0": device("GPU-a")}})
        process.thread()
    reducing.queue(0).record(DeviceWork.KERNEL, 5_100, 5_500, NCCL)
    reducing.queue(0).record(DeviceWork.COPY, 5_450, 5_600, "memcpy PtoP", work_bytes=64)
    reducing.queue(0).record(DeviceWork.KERNEL, 5_800, 5_900, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)")
    computing.queue(0).record(DeviceWork.KERNEL, 5_200, 5_300, KERNEL)
    for process in (reducing, computing):
        process.stop(6_000)
    analysis = analyze(open_trace(writer.write()))
    (gpu,) = analysis.gpu
    assert (gpu.busy_s, gpu.communication_s, gpu.exposed_s) == pytest.approx((6e-7, 6e-7, 5e-7))
    assert [(row.busy_s, row.exposed_s) for row in analysis.gpu_operations] == [(6e-7, 6e-7), (1e-7, 0.0)]
    resources = {(row.process, row.resource): row.seconds for row in analysis.breakdown if row.resource != "cpu"}
    assert resources == {("main", "cpu+communication"): 6e-7, ("process", "cpu+gpu"): 1e-7}
    parts = analysis.device_timeline.table
    exposed_s = (parts["exposed"] * (parts["end_s"] - parts["start_s"])).sum()
    assert exposed_s == pytest.approx(5e-7)
    assert list(device_lines(analysis)) == ["GPU 0 (NVIDIA H200): busy 60 % (for 50 % with nothing but communication)"]


@pytest.mark.parametrize(
    ("name", "is_apart"),
    [
        (NCCL, True),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", True),
        ("ncclDevKernel_AllGather_RING_LL", True),
        ("ncclDevKernel_SendRecv", True),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", True),
        ("ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32", True),
        ("memcpy PtoP", True),
        ("memcpy DtoD", False),
        ("_Z37", False),
        ("void at::native::copies_of_ncclDevKernel()", False),
    ],
)
def test_what_is_communication(name: str, is_apart: bool, tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process = writer.process()
    process.thread()
    process.queue(0).record(DeviceWork.KERNEL, 100, 200, name)
    process.stop(1_000)
    (gpu,) = analyze(open_trace(writer.write())).gpu
    assert (gpu.communication_s > 0, gpu.exposed_s > 0) == (is_apart, is_apart)


def test_device_work_is_shown_as_in_the_source(shared: Path) -> None:
    work = analyze(open_trace(shared)).device_work.table
    columns = ["process", "device", "stage", "operation", "name", "count", "seconds", "bytes"]
    assert work.columns.tolist() == columns
    assert work.values.tolist() == [
        ["trainer", 0, "inference", "act", SHOWN_KERNEL, 1, 2e-7, 0],
        ["trainer", 0, "simulation", "act", "memcpy DtoH", 1, 2e-7, 64],
        ["trainer", 1, "inference", "act", SHOWN_KERNEL, 1, 2e-7, 0],
        ["trainer", 1, "simulation", "act", "memcpy DtoH", 1, 2e-7, 64],
        ["worker", 1, "(none)", "(none)", "step", 1, 2e-7, 0],
    ]


def test_attribution(shared: Path) -> None:
    """From 5300 the trainer waits while its devices work until 5450, from 5350 on for what `act` launched."""
    for attribution, expected in ((GpuAttribution.LAUNCH, "act"), (GpuAttribution.COINCIDENT, "inference")):
        analysis = analyze(open_trace(shared), gpu_attribution=attribution)
        rows = analysis.breakdown.table[analysis.breakdown.table["resource"] == "gpu"]
        assert set(rows["operation"]) == {expected}
        assert rows["seconds"].sum() == pytest.approx(1.5e-7)
        sums = analysis.breakdown.table.groupby("process")["seconds"].sum()
        assert sums.tolist() == pytest.approx([1e-6, 1e-6])


def test_verbs_show_devices(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared.parent)
    arguments = ["trace", "--all", "--gpu-attribution", "coincident"]
    shown = CliRunner().invoke(analyze_verb, arguments, catch_exceptions=False).output
    for part in ("GPUs", "NVIDIA H200", "GPU time by launching operation"):
        assert part in shown
    assert {"40", "75"} <= set(shown.split())
    shown = CliRunner().invoke(inspect_verb, ["trace"], catch_exceptions=False).output
    for part in ("GPU work of trainer: recorded, driver for CUDA 13.0, CUPTI 13.0.1 from /lib/libcupti.so.13",
                 "Devices", "CUDA calls", "cudaStreamSynchronize", "kernel"):  # fmt: skip
        assert part in shown


def test_no_device_no_section(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    writer.process(pid=7).stop(10)
    writer.write_complete()
    shown = CliRunner().invoke(analyze_verb, [str(tmp_path), "--all"], catch_exceptions=False).output
    assert "GPU" not in shown
    assert "Devices" not in CliRunner().invoke(inspect_verb, [str(tmp_path)], catch_exceptions=False).output


def test_what_was_not_recorded_is_said(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process = writer.process(pid=7)
    process.thread()
    host = process.queue(fmt.HOST)
    host.record(DeviceWork.GAP, 1_000_000_000, 2_200_000_000, "[held by torch.profiler]")
    host.record(DeviceWork.CUPTI_WORK, 100, 250_000_100, "buffer flush")
    process.properties({"cuda": {**CUDA, "state": "failed", "error": "CUPTI 39: another tool has it"}})
    process.stop(3_000_000_000)
    process.header = replace(process.header, dropped_device_records=5, unresolved_launches=2, dropped_records=1)
    trace = open_trace(writer.write_complete())
    analysis = analyze(trace)
    assert analysis.why == (
        "process 7: 1 records were dropped",
        "process 7: 5 records of GPU work were dropped",
        "process 7: GPU work was not recorded for 1.2 s, held by torch.profiler",
        "process 7: GPU work was not recorded: CUPTI 39: another tool has it",
    )
    assert (analysis.complete, analysis.processes.table["complete"].tolist(), analysis.dropped_events) == (
        False,
        [False],
        6,
    )
    assert analysis.gpu.table.empty and analysis.gpu_operations.table.empty and analysis.device_work.table.empty
    document = json.loads(json.dumps(read_contents(trace).to_json_dict()))
    assert document["dropped_device_records"] == 5
    assert document["processes"][0]["unresolved_launches"] == 2
    assert [document["cuda"][0][key] for key in ("state", "gap_s", "overhead_s")] == ["failed", 1.2, 0.25]
    shown = CliRunner().invoke(inspect_verb, [str(tmp_path)], catch_exceptions=False).output
    assert "not recorded 1.2 s" in shown and "CUPTI's own work 250 ms" in shown and "2 unresolved launches" in shown


def test_devices_of_which_nothing_is_known(tmp_path: Path) -> None:
    """Properties may be anything; then CUDA's numbers tell the devices of a machine apart."""
    writer = TraceWriter(tmp_path)
    for pid, devices in ((7, [1]), (8, {"0": {"uuid": 5}, "1": None}), (9, {"1": {"uuid": "GPU-x"}})):
        process = writer.process(pid=pid)
        process.properties({"devices": devices, "cuda": [] if pid == 7 else {"state": 1 << 70, "cupti_version": "x"}})
        process.queue(0).record(DeviceWork.MEMSET, 10, 20, "memset")
        process.queue(1).record(DeviceWork.MEMSET, 15, 30, "memset")
        process.stop(50)
    trace = open_trace(writer.write_complete())
    analysis = analyze(trace)
    assert analysis.gpu.table["uuid"].tolist() == [None, None, "GPU-x"]
    assert analysis.gpu.table["busy_s"].tolist() == pytest.approx([1e-8, 1.5e-8, 1.5e-8])
    assert len(read_contents(trace).devices.table) == 6


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("_Z3addPfi", "add(float*, int)"),
        ("memcpy HtoD", "memcpy HtoD"),
        ("_Z", "_Z"),
        ("_Z3addPf\0i", "_Z3addPf\0i"),
        # Each of these is a pair of two of the one before: 2^40 times the first in the end.
        ("_Z1fSt4pairIiiE" + "".join(f"S_IS{n}_S{n}_E" for n in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"), None),
    ],
)
def test_names_of_kernels(name: str, shown: str | None, tmp_path: Path) -> None:
    process = TraceWriter(tmp_path).process()
    process.queue(0).record(DeviceWork.KERNEL, 0, 1, name)
    (tmp_path / "file").write_bytes(process.to_bytes())
    assert [row.name for row in sweep(tmp_path / "file").device_work] == [name if shown is None else shown]


WORK = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 25)), max_size=12)


BINS = st.tuples(st.integers(0, 30), st.integers(1, 20), st.integers(1, 8))


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 50), WORK), min_size=1, max_size=5), st.integers(1, 3), BINS
)
@settings(max_examples=200, deadline=None)
def test_union_over_processes(
    processes: list[tuple[int, int, Any]], entries_per_chunk: int, bins: tuple[int, int, int]
) -> None:
    """Against the set of all ticks in which a device works for some process, clipped to the process's life."""
    ticks: dict[int, set[int]] = {0: set(), 1: set()}
    arguments = []
    with TemporaryDirectory() as directory:
        for number, (start, wall, work) in enumerate(processes):
            process = TraceWriter(Path(), entries_per_chunk).process(start_ticks=start)
            queues = [process.queue(device) for device in (0, 1, 0, 1)]
            for queue, begin, length in work:
                queues[queue].record(DeviceWork.KERNEL, begin, begin + length, "f")
                # The processes number the two devices differently.
                ticks[(queue + number) % 2] |= set(range(max(begin, start), min(begin + length, start + wall)))
            path = Path(directory, str(number))
            path.write_bytes(process.to_bytes())
            arguments.append((path, start, start + wall, (0, 0, 1, 1), {0: number % 2, 1: (number + 1) % 2}))
        assert device_union(arguments) == [len(ticks[0]), len(ticks[1])]
        start, width, count = bins
        of_bins = [set(range(start + bin * width, start + (bin + 1) * width)) for bin in range(count)]
        assert device_union(arguments, bins=bins) == [[len(ticks[at] & of_bin) for of_bin in of_bins] for at in (0, 1)]


def test_union_in_bins(tmp_path: Path) -> None:
    """What spans bins is shared out among them, what lies before or behind them is left out."""
    paths = []
    for number, work in enumerate([[(0, 30), (45, 46)], [(20, 35), (60, 1000)]]):
        process = TraceWriter(tmp_path).process()
        for begin, end in work:
            process.queue(0).record(DeviceWork.KERNEL, begin, end, "f")
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(process.to_bytes())
    arguments = [(path, 0, 2000, (0, 0, 1, 1), {0: 0}) for path in paths]
    assert device_union(arguments) == [35 + 1 + 940]
    assert device_union(arguments, bins=(0, 10, 7)) == [[10, 10, 10, 5, 1, 0, 10]]
    assert device_union(arguments, bins=(5, 100, 2)) == [[30 + 1 + 45, 100]]
    assert device_union(arguments, bins=(990, 7, 3)) == [[7, 3, 0]]
    assert device_union(arguments, bins=(2**64 - 1, 1, 1)) == [[0]]
    assert device_union(arguments, bins=(0, 2**64 - 1, 1)) == [[976]]
    assert device_union(arguments, bins=(0, 10, 0)) == [[]]


@pytest.mark.parametrize(
    ("bins", "error", "message"),
    [
        ((0, 0, 10), ValueError, r"bins are wider than 0 and at most 1048576, but .* is \(0, 0, 10\)"),
        ((0, 1, 2**20 + 1), ValueError, "at most 1048576"),
        ((-1, 1, 1), OverflowError, "negative"),
        ((0, 1), TypeError, r"takes bins as a tuple \(start, width, count\) or None, not \(0, 1\)"),
    ],
)
def test_bins_that_cannot_be(bins: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        device_union([], bins=bins)


def test_union_over_clocks(tmp_path: Path) -> None:
    """A process that could not use the time-stamp counter shares a device with one that could."""
    writer = TraceWriter(tmp_path)
    for pid in (7, 8):
        process = writer.process(pid=pid)
        process.properties({"devices": {"0": device("GPU-a")}})
        process.queue(0).record(DeviceWork.KERNEL, 1_000, 2_000, "f")
        process.stop(4_000)
    # Of the second process a tick is half a nanosecond, and 0 is 700 ns: it ran from 1200 ns to 1700 ns.
    pairs = [fmt.ClockPair(ticks, 700 + ticks // 2, ticks) for ticks in (0, 4_000)]
    second = writer.processes[1]
    second.header = replace(second.header, clock=fmt.ClockKind.TSC, first_pair=pairs[0], last_pair=pairs[1])
    analysis = analyze(open_trace(writer.write_complete()))
    assert analysis.gpu.table["busy_s"].tolist() == pytest.approx([1e-6])
    assert analysis.gpu.table["kernel_s"].tolist() == pytest.approx([1.5e-6])
    assert analysis.gpu_operations.table["busy_s"].tolist() == pytest.approx([5e-7, 1e-6])


def test_older_format_is_refused_in_one_line(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    writer.process(pid=7).stop(10)
    path = next(writer.write_complete().glob("*.rlscope"))
    data = path.read_bytes()
    path.write_bytes(data[:8] + b"\1\0\0\0" + data[12:])
    readable = f"this rlscope reads versions 2 to {FORMAT_VERSION}; record the run again, or analyze"
    message = f"7-0.rlscope has format version 1, {readable}"
    with pytest.raises(TraceFormatError, match=message):
        sweep(path)
    with pytest.raises(TraceFormatError, match=message):
        open_trace(tmp_path)
