"""Send less between processes.

**Why it is slow.** What goes through a queue or a pipe is packed, copied through the kernel 64 KB at a time, and
unpacked. An observation of 3 MB takes milliseconds, a list of objects longer than an array.

**Slow**

    queue.put([transition for transition in episode])

**Faster**

    shared[index] = observation                    # in multiprocessing.shared_memory
    queue.put(index)

**How it is found.** Packing and unpacking by `multiprocessing` has a tenth of the training or more.

**When it is wrong.** Small messages that are rare cost nothing that matters.

**Reported:** thu-ml/tianshou #174, google-deepmind/open_spiel #1550, huawei-noah/SMARTS #680.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for messages that are packed."""
    yield from evidence.cause(
        Cause.PICKLING, "send less between processes: arrays rather than lists, many at once, or by shared memory"
    )
