"""Step light environments in the process that trains.

**Why it is slow.** A message to another process and back takes 50 to 200 µs, a step of CartPole 2 µs. The more
processes there are, the longer the messages take altogether.

**Slow**

    envs = SubprocVecEnv([make] * 8)

**Faster**

    envs = DummyVecEnv([make] * 8)

**How it is found.** All work of the processes that were waited for would take less time in one process than the
waits for it. Messages have an eighth of the training or more.

**When it is wrong.** Environments that become heavier later belong into processes of their own.

**Reported:** thu-ml/tianshou #387, openai/baselines #608, DLR-RM/stable-baselines3 #643.
"""

from collections.abc import Iterator

from rlscope.analysis.account.account import AccountRow, group_name
from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import LARGE_MESSAGE_BYTES, VECTORS_IN_PROCESSES, Evidence, where
from rlscope.rules.finding import Found
from rlscope.text.numbers import duration

TRIAL = "one-process"

#: What one process would not do of what several do for it.
_OF_SEVERAL = (Cause.MESSAGES, Cause.PICKLING, Cause.NO_CORE, Cause.SLOWEST, Cause.PROCESSES)
#: It is worth a change where the work takes no more of the waits than this.
_MOST_WORK = 0.9


def _is_work(row: AccountRow) -> bool:
    """Return whether one process would do this as well; the loop of a library's worker is in no stage nor own line."""
    cause = Cause(row.cause)
    return cause not in _OF_SEVERAL and (cause != Cause.NO_STAGE or bool(row.line))


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for processes whose work would take less time in the one that waits for it."""
    path = evidence.tables.path
    messages_s = evidence.seconds(Cause.MESSAGES)
    if path is None or not messages_s:
        return
    for group in path.followed:
        name = group_name(group.names)
        mean_s = sum(row.seconds for row in evidence.training if row.on == name and _is_work(row))
        work_s = len(group.works) * mean_s * (group.mean_s / group.worked_s if group.worked_s > 0 else 0.0)
        if work_s < _MOST_WORK * group.wait_s and len(group.works) > 1:
            change = (
                f"do the work of the {len(group.names)} processes in {path.process} itself: all of it takes "
                f"{duration(work_s)}, the waits for it {duration(group.wait_s)}"
            )
            # Without messages there is nothing to pack; of large ones another rule says more.
            is_large = evidence.message_bytes >= LARGE_MESSAGE_BYTES
            seconds = messages_s + (0.0 if is_large else evidence.seconds(Cause.PICKLING))
            place = evidence.made(VECTORS_IN_PROCESSES, evidence.at(Cause.MESSAGES))
            said = f"{change}{where(place)}"
            yield Found(said, "account: cause=messages", seconds, place, forecast="processes=1")
