"""Collect garbage less often.

**Why it is slow.** A full collection looks at each object that Python has: with PyTorch imported that is about 0.1
s.

**Slow**

    for step in range(steps):
        train(step)
        gc.collect()

**Faster**

    gc.freeze()                                    # once what lives long is made
    for step in range(steps):
        train(step)

**How it is found.** Collections have an eighth of the training or more, those that Python begins itself too.

**When it is wrong.** Cycles that hold memory of a GPU need a collection now and then: each thousand steps, say.

**Reported:** google/tunix #2086, ROCm/ATOM #1991, PrimeIntellect-ai/prime-rl #2145.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for time in the garbage collector."""
    yield from evidence.cause(
        Cause.GARBAGE_COLLECTION,
        "collect garbage less often: no gc.collect() in the loop; gc.freeze() once what lives long is made",
    )
