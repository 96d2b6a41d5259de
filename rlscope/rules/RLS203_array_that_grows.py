"""Make the array once, and write into it, instead of appending to it.

**Why it is slow.** An array has a fixed size: `np.append` copies all of it for each element, so that twice the
steps take four times as long.

**Slow**

    rewards = np.append(rewards, reward)

**Faster**

    rewards = np.empty(n_steps)                    # once
    rewards[step] = reward

**How it is found.** Stacks pass `append`, `insert`, `delete` or `resize` of NumPy in an eighth of the training or
more. Lines of the program count, too, that put an array together from itself: `x = np.concatenate([x, y])`.

**When it is wrong.** On arrays of a few elements a list is as good, and easier.

**Reported:** numpy/numpy #17090, optuna/optuna #2396.
"""

import ast
from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.source import Line

_FILES = ("numpy/lib/_function_base_impl.py", "numpy/lib/function_base.py", "numpy/_core/fromnumeric.py")
_GROWING = tuple(f"{file} {name}" for file in _FILES for name in ("append", "insert", "delete", "resize"))
_JOINING = frozenset(
    [f"numpy.{name}" for name in ("append", "concatenate", "delete", "hstack", "insert", "stack", "vstack")]
    + ["torch.cat", "torch.concat", "torch.concatenate", "torch.hstack", "torch.stack", "torch.vstack", "pandas.concat"]
)


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for arrays that are copied to change their size."""
    yield from evidence.calls(_GROWING, "make arrays once at their full size, or gather in a list", _grows)


def _grows(line: Line) -> str:
    for call in line.calls:
        given = {ast.unparse(node) for argument in call.node.args for node in ast.walk(argument)}
        if call.name in _JOINING and call.targets & given:
            return call.text
    return ""
