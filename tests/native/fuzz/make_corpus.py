"""Writes the fuzzer's first inputs: small sound files that between them use every part of the format.

To be run from the checkout: `PYTHONPATH=. .venv/bin/python tests/native/fuzz/make_corpus.py`.
"""

import struct
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import trace_entries
from benchmarks.trace_writer import ProcessWriter, TraceWriter
from rlscope.model import Category, DeviceWork
from rlscope.trace import format as fmt
from rlscope.version import FORMAT_VERSION


def new_process(entries_per_chunk: int = 1_000_000) -> ProcessWriter:
    return TraceWriter(Path(), entries_per_chunk).process(pid=7, start_ticks=10)


def multi_chunk() -> ProcessWriter:
    """Two threads that change chunks with frames open."""
    process = new_process()
    main, other = process.thread(), process.thread()
    main.begin_operation(11, "training_loop")
    for chunk in range(3):
        if chunk:
            main.new_chunk(switch_ticks=2)
        main.begin_operation(20 + 10 * chunk, "inference")
        main.begin_boundary(21 + 10 * chunk, Category.BACKEND, "linear")
        other.begin_boundary(22 + 10 * chunk, Category.CUDA, "launch")
        other.end(25 + 10 * chunk)
        main.end(26 + 10 * chunk)
        main.end(29 + 10 * chunk)
    other.new_chunk()
    main.end(60)
    process.stop(70)
    return process


def killed() -> ProcessWriter:
    """Chunks that were never closed, frames that never ended."""
    process = new_process()
    main, other = process.thread(), process.thread()
    main.begin_operation(12, "simulation")
    main.begin_boundary(15, Category.SIMULATOR, "step")
    other.begin_boundary(20, Category.WAIT, "get")
    other.end(300_000)
    main.end(1 << 33)
    return process


def catalog_heavy() -> ProcessWriter:
    """Many names in several catalog chunks, properties in between, ids of one and of two bytes."""
    process = new_process(entries_per_chunk=100)
    main = process.thread()
    process.properties({"process_name": "collector", "role": "worker"})
    for number in range(135):
        main.begin_operation(20 + number, f"operation {number}")
        main.end(20 + number)
    process.properties({"process_name": "renamed", "versions": {"torch": "2.9"}, "threads": {"7": "MainThread"}})
    process.stop(200, fmt.EndReason.EXIT, exit_status=3)
    return process


def with_progress() -> ProcessWriter:
    """Progress with and without a total, a baseline, phases one in the other."""
    process = new_process()
    main, other = process.thread(), process.thread(start_ticks=15)
    main.progress(11, 0, 1000, is_baseline=True)
    main.begin_phase(12, "collect")
    other.begin_phase(16, "evaluate")
    for step in range(1, 4):
        main.begin_operation(20 * step, "backpropagation")
        main.end(20 * step + 9)
        main.progress(20 * step + 10, 100 * step, 0 if step == 2 else 1 << 50)
    other.end(70)
    main.end(90)
    process.stop(100, fmt.EndReason.LIMIT)
    return process


def with_tasks() -> ProcessWriter:
    """Operations of coroutines that take turns on one thread, and the samples that they make."""
    process = new_process()
    main = process.thread()
    for step in range(4):
        main.begin_operation(20 * step + 10, "inference")
        main.end(20 * step + 19)
        main.task(20 * step + 19, "inference" if step % 2 else "tool", 7**step, step)
        main.sample(20 * step + 19, "math", step, 1 << 10 * step, (7**step, step) if step else None, step == 2)
    process.stop(100)
    return process


def with_collectives() -> ProcessWriter:
    """Calls of two communicators, some of which nobody waits for, others of which are over when their wait begins."""
    process = new_process()
    main = process.thread()
    for step in range(4):
        for name in ("all_reduce group:0", "send group:0:0>1"):
            main.collective(
                20 * step + 19, name, step, 20 * step + 3, 20 * step + 9 * step if step < 3 else None, 7**step
            )
    process.stop(100)
    return process


def with_memory() -> ProcessWriter:
    """Memory of the host and of two allocators, in and out of an operation, and as much as a number can say."""
    process = new_process()
    main = process.thread()
    for step in range(1, 5):
        main.begin_operation(20 * step, "inference")
        main.memory(20 * step + 3, fmt.MemoryOwner.HOST, 0, 1000 * step, 4000)
        main.memory(20 * step + 5, fmt.MemoryOwner.PYTORCH, step, (1 << 55) + step, trace_entries.MAX_VARINT_VALUE - 1)
        main.end(20 * step + 9)
        main.memory(20 * step + 11, fmt.MemoryOwner.JAX, 0, 0, 0)
    process.stop(120)
    return process


def with_messages() -> ProcessWriter:
    """What was written and read, in and out of an operation, with as many bytes as a number can say."""
    process = new_process()
    main = process.thread()
    for step in range(1, 4):
        main.begin_operation(20 * step, "simulation")
        for boundary, size in (("posix.write pipe:[3]", 7**step), ("posix.read pipe:[4]", 1 << 18 * step)):
            main.begin_boundary(20 * step + 3, Category.WAIT, boundary)
            main.end(20 * step + 3)
            main.tagged(20 * step + 3, fmt.OtherTag.MESSAGE, boundary, size)
        main.end(20 * step + 9)
    main.tagged(80, fmt.OtherTag.MESSAGE, "posix.read pipe:[4]", trace_entries.MAX_VARINT_VALUE - 1)
    process.stop(100)
    return process


def with_stacks() -> ProcessWriter:
    """Stacks of a thread in two chunks, a torn one, one at the tick of another record; a device works."""
    process = new_process()
    main = process.thread()
    process.queue(0, stream=1).record(DeviceWork.KERNEL, 15, 60, "gemm", process.launch_site("inference", "inference"))
    stacks = process.stacks(stream=5)
    main.begin_operation(12, "inference")
    main.begin_boundary(30, Category.BACKEND, "linear")
    for ticks in (13, 20, 30, 35):
        stacks.seen(ticks, 7, [("main", "a.py", 3), ("Policy.act", "b.py", ticks)])
    stacks.new_chunk()
    stacks.seen(36, 7)
    stacks.seen(1 << 33, 8, [("main", "a.py", 3)])
    main.end(40)
    main.end(50)
    process.stop(70)
    return process


def deep_nesting() -> ProcessWriter:
    """A chunk whose header names many open frames."""
    process = new_process()
    main = process.thread()
    for depth in range(40):
        main.begin_operation(11 + depth, "outer" if depth % 2 else "inner")
    main.new_chunk()
    for depth in range(20):
        main.end(60 + depth)
    main.new_chunk()
    for depth in range(20):
        main.end(90 + depth)
    process.stop(120)
    return process


def free_chunk() -> ProcessWriter:
    """Space that a thread gave back, in front of the chunks of another."""
    process = new_process()
    main = process.thread()
    main.begin_boundary(12, Category.PYTHON, "callback")
    main.end(13)
    process.chunks.append(type(process.chunks[0])(fmt.ChunkKind.FREE))
    late = process.thread(stream=9, start_ticks=20)
    late.begin_operation(21, "simulation")
    late.end(30)
    process.stop(40, fmt.EndReason.FAILED)
    return process


def many_threads() -> ProcessWriter:
    """More threads than the sweep looks at one by one, of all categories, in and out of operations."""
    process = new_process()
    threads = [process.thread(start_ticks=10 + number) for number in range(9)]
    for number, thread in enumerate(threads):
        if number % 3 == 0:
            thread.begin_operation(30 + number, "inference")
        thread.begin_boundary(40 + number, Category(number % 5), f"call {number % 5}")
        thread.end(60 - number)
    process.stop(90)
    return process


def device_work() -> ProcessWriter:
    """Queues of two devices and of the host, chunks that overlap, work that runs at once, launches known and not."""
    process = new_process()
    main, other = process.thread(), process.thread()
    main.begin_operation(12, "training_loop")
    main.begin_operation(14, "inference")
    main.begin_boundary(20, Category.CUDA, "cudaLaunchKernel")
    main.end(25)
    main.end(26)
    main.begin_boundary(30, Category.CUDA_WAIT, "cudaStreamSynchronize")
    other.begin_boundary(31, Category.WAIT, "get")
    wanted = process.launch_site("inference", "inference", stream=0)
    first, second, host = process.queue(0), process.queue(1), process.queue(fmt.HOST)
    for start in (22, 40, 35, 36, 5):
        first.record(DeviceWork.KERNEL, start, start + 12, f"_Z4gemmPf{start % 2}", wanted)
        second.record(DeviceWork.COPY, start + 3, start + 8, "memcpy HtoD", work_bytes=1 << 20)
    second.record(DeviceWork.MEMSET, 80, 300, "memset", process.launch_site("training_loop", "training_loop"), 64)
    second.record(DeviceWork.COPY, 310, 320, "memcpy PtoP", process.launch_site("load", "synchronisation"), 64)
    host.record(DeviceWork.CUPTI_WORK, 33, 34, "buffer flush")
    host.record(DeviceWork.GAP, 60, 70, "[held by torch.profiler]")
    main.end(70)
    return process


def stopped_device_work() -> ProcessWriter:
    """The same with all chunks closed, ended while a device works."""
    process = device_work()
    process.stop(120)
    return process


def blocked_gaps() -> ProcessWriter:
    """Gaps of threads that overlap, in all categories, with a device at work and a thread that runs no Python."""
    process = new_process()
    threads = [process.thread() for _ in range(4)]
    threads[0].absent(20, 10)
    threads[0].begin_operation(20, "inference")
    threads[1].begin_operation(21, "simulation")
    for number, category in enumerate((Category.BACKEND, Category.SIMULATOR, Category.PYTHON, Category.WAIT)):
        for thread in threads[:3]:
            thread.begin_boundary(30 + 40 * number, category, f"call {number}")
            thread.absent(60 + 40 * number, 25 - number, number, 5)
            thread.end(60 + 40 * number)
    threads[0].new_chunk()
    threads[0].absent(1 << 40, 1 << 39)
    threads[3].begin_boundary(100, Category.CUDA, "cudaLaunchKernel")
    threads[3].end(110)
    process.queue(0).record(DeviceWork.KERNEL, 40, 170, "gemm")
    process.stop((1 << 40) + 7)
    return process


SEEDS: tuple[Callable[[], ProcessWriter], ...] = (
    multi_chunk, killed, catalog_heavy, with_progress, with_tasks, with_collectives, deep_nesting, free_chunk,
    many_threads, with_memory, with_messages, device_work, stopped_device_work, blocked_gaps, with_stacks,
)  # fmt: skip


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for seed in SEEDS:
        (directory / seed.__name__).write_bytes(seed().to_bytes())
    # What a process leaves that was killed while it was writing a record, and one whose disk was cut off.
    data = killed().to_bytes()
    (directory / "cut_short").write_bytes(data[: fmt.FILE_HEADER_BYTES + 70])
    for name, version in (("older_version", FORMAT_VERSION - 1), ("newer_version", FORMAT_VERSION + 1)):
        (directory / name).write_bytes(data[:8] + struct.pack("<I", version) + data[12:200])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("corpus"))
