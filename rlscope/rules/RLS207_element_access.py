"""Work on whole tensors instead of one element after the other.

**Why it is slow.** To take one number out of a tensor costs 1 to 3 µs on a CPU, 10 µs and a wait on a GPU. Python's
own numbers and NumPy's arrays cost a tenth of that, an operation on the whole tensor much less.

**Slow**

    for step in reversed(range(len(rewards))):     # tensors
        advantage = rewards[step] + gamma * values[step + 1].item() - values[step].item()

**Faster**

    deltas = rewards + gamma * values[1:] - values[:-1]

**How it is found.** Calls such as `.item()` and `[...]` of tensors have an eighth of the training or more, and there
are more of them than timesteps.

**When it is wrong.** Where one number is all that is wanted, such as an action, it has to be taken out.

**Reported:** NVIDIA-NeMo/RL #4156, rosinality/style-based-gan-pytorch #50.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found

_TENSOR = "torch._C.TensorBase."
_TAKING = ("item", "__getitem__", "__setitem__", "__iter__", "__float__", "__int__", "__bool__", "tolist", "unbind")
_NAMES = frozenset(f"torch.TensorBase.{name}" for name in _TAKING)


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for elements that are taken out of tensors one by one."""
    counts = evidence.crossings(_TENSOR)
    count = sum(counts.get(f"{_TENSOR}{name}", 0) for name in _TAKING)
    passing = evidence.stacks.passing(_NAMES.__contains__)
    if passing is not None and count > (evidence.tables.timesteps or 0):
        change = (
            f"work on whole tensors, or on lists and arrays: {count:,} calls such as {passing.function} have "
            f"{evidence.share(passing.seconds)} of the training{where(passing.place)}"
        )
        yield Found(change, f"crossings: {_TENSOR}*", passing.seconds, passing.place)
