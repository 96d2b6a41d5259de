"""Compile once: the same shapes and the same functions in each call.

**Why it is slow.** `torch.compile` and `jax.jit` compile anew for each new shape, type or number of Python, for
seconds.

**Slow**

    for length in lengths:
        update(batch[:length], step)               # compiled for each length and each step

**Faster**

    update(pad(batch), torch.tensor(step))         # one shape, and numbers as tensors

**How it is found.** Compiling has an eighth of the training or more; of functions that were compiled before alone,
where that is known. What is compiled again after `torch.compiler.reset()` is one of these.

**When it is wrong.** In a short run the first compiling may have much of the time.

**Reported:** pytorch/pytorch #114293 and #105279.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.model import COMPILING
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for what is compiled again."""
    again = 1.0
    match evidence.properties.get(COMPILING):
        case {"ns": int(ns), "again_ns": int(again_ns)} if 0 <= again_ns <= ns > 0:
            again = again_ns / ns
    change = "compile once: the same shapes and the same functions in each call"
    yield from evidence.cause(Cause.COMPILE, change, again * evidence.seconds(Cause.COMPILE))
