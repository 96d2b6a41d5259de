"""Do not sleep while training.

**Why it is slow.** The loop stands still. Environments for people to look at wait for the next picture, and
programs that ask others again and again sleep in between.

**Slow**

    while not simulator.is_ready():
        time.sleep(0.01)

**Faster**

    simulator.ready.wait()                         # which returns at once

**How it is found.** Waits in functions that sleep have an eighth of the training or more, also in processes that are
waited for.

**When it is wrong.** A robot of flesh and steel needs its time.

**Reported:** openai/gym #1283.
"""

from collections.abc import Iterator

from rlscope.record.blocking import TIMER
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for waits by the clock, but for one that lets other threads of the process work."""
    if evidence.threads_in_operations <= 1:
        yield from evidence.waits(TIMER, "do not sleep while training")
