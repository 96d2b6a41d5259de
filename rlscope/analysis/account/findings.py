"""What stands out in a run beside its account: ranks that are late, operations that grow longer, memory that grows."""

from collections.abc import Iterable, Iterator

from rlscope.analysis.memory.rows import MemoryGrowthRow
from rlscope.analysis.ranks.rows import StragglerRow
from rlscope.analysis.run_tables import RunTables
from rlscope.model import CATEGORIES
from rlscope.text import printable
from rlscope.text.numbers import digits, duration, duration_ends, percent, size

_S_PER_HOUR = 3600
#: An operation that grows is worth a sentence where it has such a share of the run.
LEAST_GROWN = 0.05


def findings(tables: RunTables) -> list[str]:
    """Say what stands out, safe to be shown."""
    found = (
        *straggler_sentences(tables.stragglers), *longer_sentences(tables), *growth_sentences(tables.memory_growth),
    )  # fmt: skip
    return [printable(sentence) for sentence in found]


def longer_sentences(tables: RunTables) -> Iterator[str]:
    """Say of which operations each takes longer than the one before it, where that is much of the run."""
    wall_s = sum(row.seconds for row in tables.account)
    process = tables.path.process if tables.path else ""
    for row in tables.durations:
        if row.grows and row.process == process and row.count * row.mean_s >= LEAST_GROWN * wall_s:
            slope = duration_ends(row.slope_s, row.slope_low_s, row.slope_high_s)
            yield (
                f"Each {row.operation} takes longer than the one before it, by {duration(row.slope_s)} {slope}: "
                f"{duration(row.first_s)} at first, {duration(row.last_s)} at the end of {row.count:,}."
            )


def growth_sentences(rows: Iterable[MemoryGrowthRow]) -> Iterator[str]:
    """Say of each memory that grew by how much, and what that may be."""
    for row in rows:
        if row.grows:
            yield f"{_grown_memory(row)} grew to the end, by {_growth_rate(row)}: a buffer that fills, or a leak."


def _grown_memory(row: MemoryGrowthRow) -> str:
    if row.device is None:
        return f"The memory of {row.process}"
    return f"The memory that {row.owner} has given out of GPU {row.device} in {row.process}"


def _growth_rate(row: MemoryGrowthRow) -> str:
    """Return the growth with its interval: `1.2 MiB an iteration, 4.1 GiB an hour (3.9 GiB to 4.3 GiB)`."""
    rates = (row.bytes_per_s, row.low_bytes_per_s, row.high_bytes_per_s)
    hour, low, high = (size(_S_PER_HOUR * (rate or 0.0)) for rate in rates)
    per_hour = f"{hour} an hour ({low} to {high})"
    return per_hour if row.bytes_per_iteration is None else f"{size(row.bytes_per_iteration)} an iteration, {per_hour}"


def straggler_sentences(stragglers: Iterable[StragglerRow]) -> Iterator[str]:
    """Say of each rank that keeps the others how late it is, why, and what that costs at most."""
    for row in stragglers:
        if not row.stands_out:
            continue
        late = f"by {duration(row.late_s)} in {row.calls:,} calls"
        if row.per_iteration_s is not None:
            late = f"by {duration(row.per_iteration_s)} in each iteration"
        gain = "" if row.speedup is None else f"; without that at most {digits(row.speedup)} times as fast"
        share = percent(row.others_wait_s / row.span_s)
        yield f"{row.process} is late {late}{_what_makes_late(row)}: the others wait {share} of the time for it{gain}."


def _what_makes_late(row: StragglerRow) -> str:
    """Say what it does for longer than the others, if that is as long as a half of what it is late."""
    if row.cause_s < row.late_s / 2:
        return ""
    cause = CATEGORIES[row.cause].words if row.cause in CATEGORIES else row.cause
    where = f"{cause}{f' in {row.stage}' if row.stage else ''}"
    return f" ({where}, {duration(row.cause_s)} more than the others)"
