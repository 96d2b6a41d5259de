"""Update less often, with larger batches.

**Why it is slow.** Each call of PyTorch takes 2 to 10 µs however small the tensors are. Updates of small batches
consist of such calls alone; four times as large a batch takes hardly longer.

**Slow**

    model = SAC("MlpPolicy", env, train_freq=1, gradient_steps=1, batch_size=64)

**Faster**

    model = SAC("MlpPolicy", env, train_freq=64, gradient_steps=16, batch_size=256)

**How it is found.** There is an update for each fourth timestep or more often, calls of PyTorch take less than 20
µs on average, and updates have an eighth of the training or more.

**When it is wrong.** It changes what is learned from how many timesteps: compare the rewards.

**Reported:** DLR-RM/stable-baselines3 #90.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import SHORT_CALL_S, Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import duration

IS_OF_LEARNING = True
#: One update in so many timesteps is often.
_LONG_BETWEEN = 4


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for many updates of short calls."""
    timesteps, updates = evidence.tables.timesteps, evidence.updates
    if timesteps and updates * _LONG_BETWEEN >= timesteps and evidence.call_s < SHORT_CALL_S:
        change = (
            f"update less often, with larger batches: {updates:,} updates for {timesteps:,} timesteps, of calls of "
            f"PyTorch of {duration(evidence.call_s)}, which larger batches hardly prolong"
        )
        yield from evidence.cause(Cause.UPDATE, change)
