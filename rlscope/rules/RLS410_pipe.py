"""Read from and write to pipes less often, and more at once.

**Why it is slow.** Each answer of another program has to come before the next question: two changes of process, 20
µs or more, and its own work meanwhile.

**Slow**

    for observation in observations:
        engine.stdin.write(encode(observation)); engine.stdin.flush()
        actions.append(engine.stdout.readline())

**Faster**

    engine.stdin.write(encode_all(observations)); engine.stdin.flush()
    actions = [engine.stdout.readline() for _ in observations]

**How it is found.** Waits in pipes to which no process of the run writes have an eighth of the training or more. So
do waits until one of several is ready.

**When it is wrong.** Where the program at the other end works all the time, it is its work that counts.
"""

from collections.abc import Iterator

from rlscope.record.blocking import EVENTS, PIPE
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for waits in pipes of other programs."""
    yield from evidence.waits(PIPE, "read and write less often, and more at once")
    yield from evidence.waits(EVENTS, "wait for others less often, or do it beside the loop")
