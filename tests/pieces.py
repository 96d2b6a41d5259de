"""Traces of processes that do pieces of work one after the other, as paths and accounts are tested with."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.account.kinds import Bound
from rlscope.analysis.account.owner_path import OwnerPath, Work
from rlscope.analysis.analysis import analyze
from rlscope.model import NO_OPERATION, STAGES, Category, DeviceWork
from rlscope.trace.reader import open_trace

S = 1_000_000_000


class Piece(NamedTuple):
    """Time of a process.

    Attributes:
        seconds: how long it is.
        operation: that it is in, if any.
        category: of the boundary that it is in; none in Python, and in NO_CORE it is in Python and has no core.
        name: the boundary's.
        on_device: whether a device works all the time; with `kernels`, for `device_s` at the end instead.
        stage: around the operation.
    """

    seconds: float
    operation: str = ""
    category: Category = Category.PYTHON
    name: str = "call"
    on_device: bool = False
    stage: str = ""
    kernels: int = 0
    device_s: float = 0.0


def send(stream: str) -> Piece:
    return Piece(0, "", Category.WAIT, f"posix.write {stream}")


def traced(
    directory: Path, processes: Mapping[str, Sequence[Piece]], roles: dict[str, str] | None = None, phase: str = ""
) -> Path:
    """A trace of processes whose pieces follow one after the other from time 0, the first of which is the command's."""
    writer = TraceWriter(directory)
    for pid, (name, pieces) in enumerate(processes.items(), start=1):
        process = writer.process(pid=pid)
        process.properties({"process_name": name} | ({"role": roles[name]} if roles and name in roles else {}))
        thread, now = process.thread(), 0
        if phase:
            thread.begin_phase(now, phase)
        queue = process.queue(0) if any(piece.on_device or piece.kernels for piece in pieces) else None
        for piece in pieces:
            end = now + round(piece.seconds * S)
            opened = [each for each in (piece.stage, piece.operation) if each]
            for each in opened:
                thread.begin_operation(now, each)
            if piece.category is Category.NO_CORE:
                thread.absent(end, blocked=0, queued=end - now)
            elif piece.category is not Category.PYTHON:
                thread.boundary(now, end, piece.category, piece.name)
            for _ in opened:
                thread.end(end)
            kernels = 1 if piece.on_device else piece.kernels
            if kernels and queue is not None:
                stage = piece.stage or (piece.operation if piece.operation in STAGES else NO_OPERATION)
                launch = process.launch_site(piece.operation or NO_OPERATION, stage)
                length = end - now if piece.on_device else round(piece.device_s * S) // kernels
                for start in (end - left * length for left in range(kernels, 0, -1)):
                    queue.record(DeviceWork.KERNEL, start, start + length, "gemm", launch)
            now = end
        process.stop(now)
    return writer.write_complete()


def path_of(trace: Path) -> OwnerPath:
    """The path of a trace, which there must be."""
    path = analyze(open_trace(trace)).path
    assert path is not None
    return path


def bounds(work: Work) -> dict[str, float]:
    """Seconds of a path by what they were bound by, without what is less than a microsecond."""
    found: dict[Bound, float] = {}
    for kind, seconds in work.mix.items():
        found[kind.bound] = found.get(kind.bound, 0.0) + seconds
    return {bound.value: round(seconds, 6) for bound, seconds in found.items() if seconds > 1e-6}
