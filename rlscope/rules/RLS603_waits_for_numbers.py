"""Take fewer numbers out of a GPU.

**Why it is slow.** `.item()`, `.cpu()` and `if tensor:` wait until the GPU has done all that was launched. Then it
has nothing to do until the next launch.

**Slow**

    losses.append(loss.item())                     # in each update

**Faster**

    losses.append(loss.detach())                   # and torch.stack(losses).cpu() at the end

**How it is found.** The CPU waits in a hundred such calls or more for an eighth of the training, and the GPU does
nothing for as long.

**When it is wrong.** Actions have to come out of the GPU: one copy for all environments. Where the GPU is busy all
the time, the wait is for its work, and without the call it would be elsewhere.

**Reported:** rosinality/style-based-gan-pytorch #50.
"""

from collections.abc import Iterator

from rlscope.analysis.account.account import public_name
from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found, Place

_LEAST_COUNT = 100


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for calls that wait for a device, by the line that makes most of them."""
    rows = (row for row in evidence.tables.device_idle if row.process == evidence.process)
    idle_s = sum(row.seconds for row in rows)
    for row in evidence.tables.sync_points:
        if row.process == evidence.process and row.function and row.count >= _LEAST_COUNT:
            place = Place(row.caller, row.file, row.line)
            change = (
                f"take fewer numbers out of the GPU: {row.count:,} calls of {public_name(row.function)} wait for it "
                f"for {evidence.share(row.seconds)} of the training{where(place)}"
            )
            # Without the wait the CPU would go on beside the GPU: what is saved is what this does not do meanwhile.
            yield Found(change, f"sync_points: function={row.function}", min(row.seconds, idle_s), place)
