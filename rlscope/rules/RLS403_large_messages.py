"""Send less between processes.

**Why it is slow.** What goes through a queue or a pipe is packed, copied through the kernel 64 KB at a time, and
unpacked. An observation of 3 MB takes milliseconds, a list of objects longer than an array.

**Slow**

    queue.put([transition for transition in episode])

**Faster**

    shared[index] = observation                    # in multiprocessing.shared_memory
    queue.put(index)

**How it is found.** Packing and unpacking by `multiprocessing` has an eighth of the training or more. Where messages
have 10 KB or more on average, sending them counts as well.

**When it is wrong.** Small messages that are rare cost nothing that matters.

**Reported:** thu-ml/tianshou #174, google-deepmind/open_spiel #1550, huawei-noah/SMARTS #680.
"""

from collections.abc import Iterator

from rlscope.analysis.account.account import AccountRow
from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import LARGE_MESSAGE_BYTES, VECTORS_IN_PROCESSES, Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import size

_CHANGE = "send less between processes: what has changed, many at once, arrays rather than lists, or shared memory"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for messages that are packed, and for what is sent of large ones.

    Processes that are started anew get all that they need anew: another rule says so. Of small messages of
    vectors of environments a program can send no less.
    """
    packing = max((row for row in evidence.training if row.cause == Cause.PICKLING), key=_seconds, default=None)
    is_of_library = packing is not None and packing.called.split(".")[0] in VECTORS_IN_PROCESSES
    is_large = evidence.message_bytes >= LARGE_MESSAGE_BYTES
    if evidence.starts_processes_anew or (is_of_library and not is_large):
        return
    seconds = evidence.seconds(Cause.PICKLING)
    change = _CHANGE
    if is_large:
        seconds += evidence.seconds(Cause.MESSAGES)
        change = f"{_CHANGE}; messages have {size(round(evidence.message_bytes))} on average"
    yield from evidence.cause(Cause.PICKLING, change, seconds)


def _seconds(row: AccountRow) -> float:
    return row.seconds
