"""Log less often.

**Why it is slow.** Each number becomes a record that is packed, and at a flush written; histograms and images cost
much more, and services are asked over the network.

**Slow**

    writer.add_histogram("weights", weights, step)      # in each step
    writer.flush()

**Faster**

    if step % 1_000 == 0:
        writer.add_histogram("weights", weights, step)

**How it is found.** Logging has an eighth of the time or more: TensorBoard, Weights & Biases, Python's `logging`,
loggers of libraries.

**When it is wrong.** Nothing speaks for slow logging.

**Reported:** wandb/wandb #950.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found

TRIAL = "no-logging"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for logging."""
    yield from evidence.cause(Cause.LOG, "log less often", forecast="log=1/10")
    yield from evidence.calls(("logging/__init__.py ",), "log less often")
