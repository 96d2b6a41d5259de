"""Make one array of the list before making a tensor of it.

**Why it is slow.** `torch.tensor` of a list of arrays looks at each number as an object of Python. By way of NumPy
the same is copied as a whole.

**Slow**

    batch = torch.tensor(observations)             # a list of arrays

**Faster**

    batch = torch.from_numpy(np.stack(observations))

**How it is found.** Calls of `torch.tensor`, `torch.as_tensor` and the constructors of types have an eighth of the
training or more.

**When it is wrong.** Of one large array the time is that of copying it: `torch.from_numpy` does not copy.

**Reported:** pytorch/pytorch #13918, ericyangyu/PPO-for-Beginners #21, Unity-Technologies/ml-agents #5811.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.source import called

_MAKERS = ("torch.tensor", "torch.as_tensor", "torch.asarray")
#: Constructors are no functions, and are known by the lines that call them.
_CONSTRUCTORS = frozenset(
    f"torch.{name}" for name in ("Tensor", "FloatTensor", "DoubleTensor", "LongTensor", "IntTensor", "BoolTensor")
)


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for tensors that are made from objects of Python."""
    yield from evidence.calls(
        _MAKERS, "make one array of the list first: torch.from_numpy(np.stack(list))", called(_CONSTRUCTORS)
    )
