"""The changes that the account of a run with GPUs supports: what keeps these from computing more of the time."""

from collections.abc import Iterable, Iterator, Sequence

from rlscope.analysis.account.account import AccountRow
from rlscope.analysis.account.causes import Cause
from rlscope.analysis.devices.rows import DeviceWorkRow, LaunchRow
from rlscope.analysis.rows import sums
from rlscope.model import STAGES, Category
from rlscope.text import line_text
from rlscope.text.numbers import duration, percent, size

#: What copies between the memories of a CPU and of a GPU are called, at the end.
_BETWEEN_MEMORIES = ("HtoD", "DtoH")


def device_changes(
    launched: Iterable[LaunchRow],
    work: Iterable[DeviceWorkRow],
    account: Sequence[AccountRow],
    loop_s: float,
) -> Iterator[tuple[float, str]]:
    """Yield what to do about launches and copies, and the seconds of the loop that they take.

    Args:
        launched: Kernels for which devices waited.
        work: Of devices.
        account: Of the process that paces it.
        loop_s: How long that trains.
    """
    process = account[0].process if account else ""
    launches = [row for row in launched if row.process == process]
    for device in dict.fromkeys(row.device for row in launches):
        yield from _more_at_a_time(device, [row for row in launches if row.device == device], loop_s)
    copies = [row for row in work if row.process == process and row.name.endswith(_BETWEEN_MEMORIES)]
    yield from _less_copied(copies, account, loop_s)


def _more_at_a_time(device: int, launches: Iterable[LaunchRow], loop_s: float) -> Iterator[tuple[float, str]]:
    """Say that a device waits for launches of kernels that take less than the time from one to the next."""
    short = [row for row in launches if row.kernel_s < row.gap_s]
    waited_s, count = sum(row.graph_saves_s for row in short), sum(row.launches for row in short)
    if not count:
        return
    mean_s = sum(row.kernel_s * row.launches for row in short) / count
    stages = dict.fromkeys(Cause(row.stage).words for row in short if row.stage in STAGES)
    within = f" in {' and '.join(stages)}" if stages else ""
    yield (
        waited_s,
        f"let GPU {device} compute more at a time{within}: for {percent(waited_s / loop_s)} of the loop it waits for "
        f"launches, of {count:,} kernels of {duration(mean_s)}; larger batches, compiling, CUDA graphs, or the CPU "
        "where networks are small",
    )


def _less_copied(
    copies: Sequence[DeviceWorkRow], account: Sequence[AccountRow], loop_s: float
) -> Iterator[tuple[float, str]]:
    """Say which copies a process waits for: that is known of those that take as long as its CUDA calls there."""
    copied_s = sums((row.stage, row.seconds) for row in copies)
    copied_bytes = sums((row.stage, row.bytes) for row in copies)
    for stage, seconds in copied_s.items():
        waits = [
            row
            for row in account
            if row.stage == (stage if stage in STAGES else "")
            and (row.category == Category.CUDA.label or row.cause == Cause.GPU)
        ]
        waited_s = min(seconds, sum(row.seconds for row in waits))
        place = next((f" at {line_text(row.file, row.line)}" for row in waits if row.line), "")
        share = percent(waited_s / loop_s)
        yield (
            waited_s,
            f"copy less between CPU and GPU: {size(copied_bytes[stage])}{place} take {share} of the loop; keep data on "
            "the GPU, copy smaller types, or from pinned memory with non_blocking=True",
        )
