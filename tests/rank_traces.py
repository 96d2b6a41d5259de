"""Traces of ranks that call a communicator, with known times."""

from pathlib import Path

from benchmarks.trace_writer import ProcessWriter, ThreadWriter, TraceWriter
from rlscope.model import Category

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
    thread.begin_boundary(waited * MS, Category.WAIT, name)
    thread.end(ended * MS)
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
