"""Do not detect anomalies of autograd while training.

**Why it is slow.** `detect_anomaly` looks at a stack of Python in each operation and at each gradient for NaN.

**Slow**

    torch.autograd.set_detect_anomaly(True)

**Faster**

    if arguments.debug:
        torch.autograd.set_detect_anomaly(True)

**How it is found.** The program turned it on, and updates have an eighth of the training or more.

**When it is wrong.** While a NaN is looked for it is the right tool.

**Reported:** Lightning-AI/pytorch-lightning #12344, yenchenlin/nerf-pytorch #42.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.model import ANOMALIES
from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found, Place
from rlscope.text import encodable


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for the line that turned it on."""
    match evidence.properties.get(ANOMALIES):
        case [str(file), int(line)]:
            place = Place("", encodable(file).removeprefix(f"{evidence.directory.rstrip('/')}/"), line)
            change = (
                "do not detect anomalies of autograd while training: it looks at a stack in each operation"
                f"{where(place)}"
            )
            yield Found(change, f"processes: property={ANOMALIES}", evidence.seconds(Cause.UPDATE), place)
