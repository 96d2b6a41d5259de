r"""Start other programs less often, or beside the loop.

**Why it is slow.** A program takes 1 to 1,000 ms to start, and `subprocess.run` waits until it has ended.

**Slow**

    reward = float(subprocess.run(["./simulate", path], capture_output=True).stdout)

**Faster**

    simulator.stdin.write(f"{path}\n")             # of one program that stays

**How it is found.** Waits for the end of other programs have an eighth of the training or more. So have functions of
`subprocess` that start one or wait for its answer.

**When it is wrong.** Simulators that can do no more than one run have to be started again.
"""

from collections.abc import Iterator

from rlscope.record.blocking import PROCESS
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found

#: They start a program, or wait for all of its answer. Who talks to one that stays calls none of them.
_STARTING = tuple(
    f"subprocess.py {name}" for name in ("run", "call", "check_call", "check_output", "getoutput", "Popen.")
)
_CHANGE = "start other programs less often, or beside the loop"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for starts of other programs, their answers, and waits for their end."""
    found = [*evidence.calls(_STARTING, _CHANGE)]
    # `subprocess` waits for the end as well, which is in its time already.
    yield from found or evidence.waits(PROCESS, _CHANGE)
