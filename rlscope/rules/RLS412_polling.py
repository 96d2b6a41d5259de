"""Wait for what is to come instead of asking for it again and again.

**Why it is slow.** Who asks in a loop whether a queue has something keeps a core busy, which those who are to fill the
queue then lack.

**Slow**

    while True:
        try:
            batch = queue.get_nowait()
        except queue.Empty:
            continue

**Faster**

    batch = queue.get()                            # sleeps until there is one; or get(timeout=1.0)

**How it is found.** A process is in functions that ask for half of its training or more, and cores are short.

**When it is wrong.** Where cores are free, asking has the answer some microseconds earlier.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found
from rlscope.text.numbers import percent

_ASKING = (
    "multiprocessing/queues.py Queue.get_nowait", "multiprocessing/queues.py Queue.empty",
    "multiprocessing/queues.py SimpleQueue.empty", "queue.py Queue.get_nowait", "queue.py Queue.empty",
    "multiprocessing/pool.py AsyncResult.ready", "multiprocessing/pool.py ApplyResult.ready",
    "concurrent/futures/_base.py Future.done",
)  # fmt: skip
_MOST = 0.5


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for a process that asks busily while others of the run need its core."""
    process, share, place = evidence.busy_in(_ASKING)
    if share >= _MOST and len(evidence.tables.processes) > 1:
        change = (
            f"let {process} wait, as get() does: for {percent(share)} of its time it asks whether something has come"
            f"{where(place)}, and keeps a core from the others"
        )
        yield Found(change, "functions: purpose=training", evidence.seconds(Cause.NO_CORE), place, is_bound=False)
