"""Share arrays by shared memory, not objects of a `Manager`.

**Why it is slow.** Each access to a list or a dict of a `multiprocessing.Manager` is a message to its process and
back. That takes 100 µs, in a process's own dict 50 ns.

**Slow**

    weights = Manager().dict()

**Faster**

    weights = torch.zeros(size).share_memory_()    # or multiprocessing.shared_memory

**How it is found.** Stacks pass `multiprocessing.managers` in an eighth of the training or more.

**When it is wrong.** For what is asked for once in a second it is as good as anything.

**Reported:** Wireless-Innovation-Forum/Spectrum-Access-System #731, flav-io/flavio #123.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for objects that a manager keeps."""
    yield from evidence.calls(
        ("multiprocessing/managers.py BaseProxy.", "multiprocessing/managers.py dispatch"),
        "share arrays by shared memory, and keep dicts and lists in one process",
    )
