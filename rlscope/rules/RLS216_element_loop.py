"""Compute with whole arrays instead of one element after the other.

**Why it is slow.** Python takes 50 to 200 ns to take an element out of an array and as much for each operation, NumPy
1 ns for each element.

**Slow**

    for step in reversed(range(len(rewards))):
        total = rewards[step] + gamma * total * (1 - dones[step])
        returns[step] = total

**Faster**

    returns = scipy.signal.lfilter([1], [1, -gamma], rewards[::-1])[::-1]      # or numba.njit of the loop

**How it is found.** A loop takes elements out by its own number, and calls nothing but arithmetic. Its lines have a
tenth of the training or more, with what arrays and tensors do there.

**When it is wrong.** Where one element depends on the one before in a way that no function of an array has, only
`numba.njit`, `jax.lax.scan` or C makes it faster.
"""

import ast
from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.source import Line

#: What such a loop may call: it is arithmetic with single numbers.
_CHEAP = frozenset({
    "abs", "bool", "divmod", "enumerate", "float", "int", "len", "max", "min", "pow", "range", "reversed", "round",
    "sum", "zip", ".append", ".item",
})  # fmt: skip
_MODULES = ("math.", "numpy.", "cmath.")


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for loops over elements."""
    yield from evidence.calls((), "compute with whole arrays, or compile the loop", _is_in_loop, is_whole=True)


def _is_in_loop(line: Line) -> str:
    if line.loop is None or not _takes_elements(line.loop.node):
        return ""
    is_arithmetic = all(name in _CHEAP or name.startswith(_MODULES) for name in line.loop.called)
    return f"the loop of line {line.loop.node.lineno}" if is_arithmetic else ""


def _takes_elements(loop: ast.For | ast.While) -> bool:
    """Return whether elements are taken out by a number of the loop."""
    added = [each.target for each in ast.walk(loop) if isinstance(each, ast.AugAssign)]
    counted = added if isinstance(loop, ast.While) else ast.walk(loop.target)
    numbers = {each.id for each in counted if isinstance(each, ast.Name)}
    indices = (each.slice for each in ast.walk(loop) if isinstance(each, ast.Subscript))
    return any(isinstance(each, ast.Name) and each.id in numbers for index in indices for each in ast.walk(index))
