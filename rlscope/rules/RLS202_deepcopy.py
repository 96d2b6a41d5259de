"""Copy less deeply than `copy.deepcopy` and `dataclasses.asdict` do.

**Why it is slow.** They visit each object in Python, about 1 µs for each, and copy what never changes as well.

**Slow**

    infos.append(copy.deepcopy(info))

**Faster**

    infos.append(dict(info))                       # or array.copy() of what does change

**How it is found.** Stacks pass them in an eighth of the training or more.

**When it is wrong.** Where what is inside is changed later, each level that changes needs its copy.

**Reported:** DLR-RM/stable-baselines3 #618, QuTech-Delft/qgym #93, fedden/poker_ai #102.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.source import called

_ON_LINES = frozenset({".copy", "numpy.copy"})


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for deep copies."""
    yield from evidence.calls(
        ("copy.py deepcopy", "dataclasses.py asdict", "dataclasses.py _asdict_inner", "torch.TensorBase.clone"),
        "copy no more than what changes, with .copy() of arrays and dicts",
        called(_ON_LINES),
    )
