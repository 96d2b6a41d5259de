"""The sentences of advice on memory that grew until the end of the run."""

from collections.abc import Iterable, Iterator

from rlscope.analysis.memory.rows import MemoryGrowthRow
from rlscope.text.numbers import size

_S_PER_HOUR = 3600


def growth_sentences(rows: Iterable[MemoryGrowthRow]) -> Iterator[str]:
    """Say of each memory that grew by how much, and what that may be."""
    for row in rows:
        if row.grows:
            yield f"{_what(row)} grew to the end, by {_rate(row)}: a buffer that fills, or a leak."


def _what(row: MemoryGrowthRow) -> str:
    if row.device is None:
        return f"The memory of {row.process}"
    return f"The memory that {row.owner} has given out of GPU {row.device} in {row.process}"


def _rate(row: MemoryGrowthRow) -> str:
    """Return the growth with its interval: `1.2 MiB an iteration, 4.1 GiB an hour (3.9 GiB to 4.3 GiB)`."""
    rates = (row.bytes_per_s, row.low_bytes_per_s, row.high_bytes_per_s)
    hour, low, high = (size(_S_PER_HOUR * (rate or 0.0)) for rate in rates)
    per_hour = f"{hour} an hour ({low} to {high})"
    return per_hour if row.bytes_per_iteration is None else f"{size(row.bytes_per_iteration)} an iteration, {per_hour}"
