"""Keep locks for less time.

**Why it is slow.** Who wants a lock that another thread keeps does nothing until it has it.

**Slow**

    with lock:
        batch = replay.sample(256)
        learn(batch)

**Faster**

    with lock:
        batch = replay.sample(256)
    learn(batch)

**How it is found.** Waits for locks that a `with` statement takes have an eighth of the training or more.

**When it is wrong.** A lock that stands for an answer of another thread is no lock to shorten.

**Reported:** younggyoseo/Ape-X #3.
"""

from collections.abc import Iterator

from rlscope.record.blocking import LOCK
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for waits for locks."""
    yield from evidence.waits(
        LOCK, "let others keep the lock for less time: no sleeping, waiting or computing under it"
    )
