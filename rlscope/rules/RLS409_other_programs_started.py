r"""Start other programs less often, or beside the loop.

**Why it is slow.** A program takes 1 to 1,000 ms to start, and `subprocess.run` waits until it has ended.

**Slow**

    reward = float(subprocess.run(["./simulate", path], capture_output=True).stdout)

**Faster**

    simulator.stdin.write(f"{path}\n")             # of one program that stays

**How it is found.** Waits for the end of other programs have a tenth of the training or more.

**When it is wrong.** Simulators that can do no more than one run have to be started again.
"""

from collections.abc import Iterator

from rlscope.record.blocking import PROCESS
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for waits for the end of other programs."""
    yield from evidence.waits(PROCESS, "start other programs less often, or beside the loop")
