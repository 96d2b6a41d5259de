"""Give the slowest worker less to do, or do not wait for all.

**Why it is slow.** Who waits for all workers waits for the slowest of them, and the others do nothing meanwhile.

**Slow**

    envs = SubprocVecEnv([make_small, make_small, make_large])

**Faster**

    envs = SubprocVecEnv([make_small, make_small, make_small])      # or AsyncVectorEnv that sends what is there

**How it is found.** One of several processes that are waited for works for longer than the others, and waits for it
have an eighth of the training or more. Or the one that paces the run works for so much longer than those like it.

**When it is wrong.** Where each worker is the slowest in turn, the reason is chance, and this rule finds nothing.

**Reported:** hill-a/stable-baselines #390.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.analysis.averages import mean
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import duration


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for the one of several processes that is waited for longest."""
    path = evidence.tables.path
    for group in path.followed if path is not None else ():
        if group.slowest is not None and group.slowest_s > 0:
            works_s = [work.total_s for work in group.works]
            slowest_s = works_s.pop(group.slowest)
            change = (
                f"give {group.names[group.slowest]} less to do, or do not wait for all: it works for "
                f"{duration(slowest_s)}, the others for {duration(mean(works_s))} on average"
            )
            yield Found(change, "account: cause=slowest", evidence.seconds(Cause.SLOWEST), evidence.at(Cause.SLOWEST))
    others_s = [evidence.busy_s(name) for name in evidence.alike]
    if others_s:
        own_s = evidence.busy_s(evidence.process)
        change = (
            f"give {evidence.process} less to do, or do not wait for all: it works for {duration(own_s)}, the others "
            f"like it for {duration(mean(others_s))} on average"
        )
        yield Found(change, "breakdown: process", own_s - mean(others_s))
