"""Save less often, or less.

**Why it is slow.** A network is small, but a replay buffer has gigabytes, which are packed and written each time.

**Slow**

    CheckpointCallback(save_freq=1_000, save_path="models", save_replay_buffer=True)

**Faster**

    CheckpointCallback(save_freq=100_000, save_path="models")

**How it is found.** Checkpoints have a tenth of the time or more: `torch.save` and what libraries save.

**When it is wrong.** On machines that may be taken away at any time, what is lost without them counts as well.

**Reported:** DLR-RM/stable-baselines3 #1016, hill-a/stable-baselines #376.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for checkpoints."""
    yield from evidence.cause(Cause.CHECKPOINT, "save less often, or less: a replay buffer is large")
