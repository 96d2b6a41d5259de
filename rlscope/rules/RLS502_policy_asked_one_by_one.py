"""Ask the policy once for all of several environments.

**Why it is slow.** Each call of PyTorch takes 2 to 10 µs however small the tensors are. To answer for eight
environments at once takes hardly longer than for one.

**Slow**

    for index, env in enumerate(envs):
        actions[index] = policy(observations[index])

**Faster**

    actions = policy(torch.stack(observations))

**How it is found.** The networks answer as often as there are timesteps, or more often, and at most each tenth
timestep has an update. Calls of PyTorch take less than 20 µs on average. Inference has an eighth of the training or
more.

**When it is wrong.** With one environment there is one observation at a time: then step several.

**Reported:** DLR-RM/stable-baselines3 #643.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import SHORT_CALL_S, Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import duration

IS_OF_LEARNING = True
#: Where there is less than one update in so many timesteps, networks answer for the policy.
_SELDOM_BETWEEN = 10


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for answers for one timestep at a time."""
    timesteps, answers, call_s = evidence.tables.timesteps, evidence.answers, evidence.call_s
    is_seldom_updated = evidence.updates * _SELDOM_BETWEEN <= (timesteps or 0)
    if timesteps and answers >= timesteps and is_seldom_updated and 0 < call_s < SHORT_CALL_S:
        change = (
            f"ask the policy once for all of several environments: {answers:,} answers for {timesteps:,} timesteps, of "
            f"calls of PyTorch of {duration(call_s)}, which larger batches hardly prolong"
        )
        yield from evidence.cause(Cause.INFERENCE, change)
