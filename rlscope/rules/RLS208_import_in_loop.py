"""Import before the loop.

**Why it is slow.** What is imported for the first time in the middle of the training is read and run there. A large
package takes seconds. Workers that are started anew import all of it again.

**Slow**

    def log(self):
        import matplotlib.pyplot as plt

**Faster**

    import matplotlib.pyplot as plt                # at the head of the file

**How it is found.** Imports in the training loop have a tenth of it or more.

**When it is wrong.** In a short run an import may have much of the time, and of the long one nothing.

**Reported:** pytorch/pytorch #5636.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for imports in the loop."""
    yield from evidence.cause(Cause.IMPORT, "import before the loop")
