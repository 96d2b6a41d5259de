"""Do less in callbacks, or call them less often.

**Why it is slow.** A callback runs in each step, and the training waits for it.

**Slow**

    def _on_step(self):
        self.plot(self.locals["rewards"])

**Faster**

    def _on_rollout_end(self):
        self.plot(self.rewards)

**How it is found.** Callbacks of libraries have an eighth of the time or more, without evaluation, checkpoints,
logging and rendering in them, which have rules of their own.

**When it is wrong.** What the callback does may be a part of the algorithm.

**Reported:** tensorflow/tensorflow #37876, keras-team/keras #608.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for callbacks."""
    yield from evidence.cause(Cause.CALLBACK, "do less in callbacks, or call them less often", forecast="callback=1/10")
