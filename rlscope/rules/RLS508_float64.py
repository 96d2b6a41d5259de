"""Train in float32.

**Why it is slow.** A number of 64 bits takes twice the memory, and a core computes half as many in a second. On most
GPUs it is a 64th.

**Slow**

    torch.set_default_dtype(torch.float64)

**Faster**

    torch.set_default_dtype(torch.float32)         # as it is without this line; observations .float()

**How it is found.** New tensors of PyTorch are of type float64, or a network was made so by `.double()`. Its calls are
long enough to be of computing.

**When it is wrong.** Physics that is learned through, and sums over millions of numbers, may need all digits.
"""

from collections.abc import Iterator

from rlscope.model import Category
from rlscope.rules.evidence import SHORT_CALL_S, Evidence, where
from rlscope.rules.finding import Found, Place

#: Half as many numbers fit into a core's registers.
_SAVED = 0.5
_DOUBLE = "torch.float64"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for networks in double precision."""
    is_double = _DOUBLE in map(evidence.properties.get, ("default_dtype", "network_dtype"))
    if is_double and evidence.call_s >= SHORT_CALL_S:
        seconds = sum(row.seconds for row in evidence.training if row.category == Category.BACKEND.label)
        place = evidence.made(("set_default_dtype", "set_default_tensor_type", "double"), Place())
        change = f"train in float32: PyTorch has {evidence.share(seconds)} of the training in float64{where(place)}"
        yield Found(change, "the process's default_dtype, network_dtype", seconds * _SAVED, place)
