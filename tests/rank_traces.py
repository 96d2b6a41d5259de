"""Traces of ranks that call a communicator, with known times."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.trace_writer import ProcessWriter, ThreadWriter, TraceWriter
from rlscope.model import Category, DeviceWork

MS = 1_000_000
REDUCE = "torch.distributed.all_reduce"


def rank(writer: TraceWriter, number: int, size: int, job: str = "a:1") -> ProcessWriter:
    """A rank that lives from 0 on, in a communicator of all of them."""
    process = writer.process(pid=number + 1)
    process.properties(
        {"process_name": f"rank {number}", "communicator group:0": {"ranks": [*range(size)], "job": job}}
    )
    return process


def call(
    thread: ThreadWriter, sequence: int, called: int, waited: int, ended: int, name: str = f"{REDUCE} group:0"
) -> None:
    """A call that its thread waits for; times in milliseconds."""
    thread.boundary(waited * MS, ended * MS, Category.WAIT, name)
    thread.collective(ended * MS, name, sequence, called * MS, waited * MS, size=8)


def trained(directory: Path, late_ms: int, steps: int = 40) -> TraceWriter:
    """Two ranks, each step of which takes 10 ms and what rank 1 does longer in Python, and a call of 1 ms."""
    writer = TraceWriter(directory)
    for number in range(2):
        process = rank(writer, number, 2)
        thread = process.thread()
        now = 0
        for step in range(steps):
            thread.begin_operation(now * MS, "training_loop")
            called = now + 10 + late_ms * number
            now += 10 + late_ms + 1
            call(thread, step, called, called, now)
            thread.end(now * MS)
            thread.progress(now * MS, step + 1)
        process.stop(now * MS)
    return writer


@dataclass(frozen=True)
class DeviceStep:
    """What a rank's device does in a step; times in milliseconds from its begin.

    Attributes:
        computes: from when to when it computes.
        reduces: from when to when it has the kernel of `all_reduce`.
    """

    computes: tuple[int, int]
    reduces: tuple[int, int]


ALL_REDUCE = "_Z37ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"


def on_devices(directory: Path, ranks: list[DeviceStep], steps: int = 40, step_ms: int = 20) -> TraceWriter:
    """Ranks that train on a device each: the CPU calls at once, and waits for the device at the end of the step."""
    writer = TraceWriter(directory)
    for number, device in enumerate(ranks):
        process = rank(writer, number, len(ranks))
        process.properties({"devices": {"0": {"uuid": f"GPU-{number}"}}})
        thread = process.thread()
        site = process.launch_site("training_loop", "training_loop", stream=0)
        computing, reducing = process.queue(0), process.queue(0)
        for step in range(steps):
            begin = step * step_ms
            thread.begin_operation(begin * MS, "training_loop")
            called = begin + 1
            thread.boundary(called * MS, called * MS + 1000, Category.WAIT, f"{REDUCE} group:0")
            thread.collective(called * MS + 1000, f"{REDUCE} group:0", step, called * MS, called * MS, size=8)
            thread.boundary((called + 1) * MS, (begin + step_ms - 1) * MS, Category.CUDA_WAIT, "cudaStreamSynchronize")
            for queue, name, (start, end) in (
                (computing, "gemm", device.computes),
                (reducing, ALL_REDUCE, device.reduces),
            ):
                queue.record(DeviceWork.KERNEL, (begin + start) * MS, (begin + end) * MS, name, site)
            thread.end((begin + step_ms) * MS)
            thread.progress((begin + step_ms) * MS, step + 1)
        process.stop(steps * step_ms * MS)
    return writer
