"""Let memory not grow to the end of a run.

**Why it is bad.** A long run ends when there is none left. Before that, pages of others are written to the disk.

**Slow**

    losses.append(loss)                            # with its whole graph

**Better**

    losses.append(loss.item())

**How it is found.** What a process keeps grows from part to part of the loop, with an interval above zero, and by
100 MiB or more in it.

**When it is wrong.** A replay buffer grows until it is full.

**Reported:** hill-a/stable-baselines #716, ray-project/ray #10530.
"""

from collections.abc import Iterator

from rlscope.analysis.memory.tables import MemoryGrowthRow
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import size

_S_PER_HOUR = 3600
#: A loop that grew by less is filling a buffer, as far as anybody can tell.
_LEAST_BYTES = 100 << 20


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for memory that grows to the end."""
    loop_s = sum(row.seconds for row in evidence.training)
    for row in evidence.tables.memory_growth:
        if row.grows and (row.bytes_per_s or 0.0) * loop_s >= _LEAST_BYTES:
            owner = row.process if row.device is None else f"{row.owner} on GPU {row.device} in {row.process}"
            change = (
                f"look what {owner} keeps: its memory grew to the end, by {_rate(row)}; a buffer that fills, or a leak"
            )
            yield Found(change, f"memory_growth: process={row.process}, owner={row.owner}", None)


def _rate(row: MemoryGrowthRow) -> str:
    """Return the growth with its interval: `1.2 MiB an iteration, 4.1 GiB an hour (3.9 GiB to 4.3 GiB)`."""
    rates = (row.bytes_per_s, row.low_bytes_per_s, row.high_bytes_per_s)
    hour, low, high = (size(_S_PER_HOUR * (rate or 0.0)) for rate in rates)
    per_hour = f"{hour} an hour ({low} to {high})"
    return per_hour if row.bytes_per_iteration is None else f"{size(row.bytes_per_iteration)} an iteration, {per_hour}"
