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
from collections.abc import Collection, Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.source import Line, names_in

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
    if line.loop is not None and _takes_elements(line.loop.node) and all(map(_is_arithmetic, line.loop.called)):
        return f"the loop of line {line.loop.node.lineno}"
    inner = (node for node in line.nodes if isinstance(node, ast.ListComp | ast.GeneratorExp))
    return next((f"the loop of line {node.lineno}" for node in inner if _computes_elements(node, line)), "")


def _is_arithmetic(name: str) -> bool:
    return name in _CHEAP or name.startswith(_MODULES)


def _computes_elements(node: ast.ListComp | ast.GeneratorExp, line: Line) -> bool:
    """Return whether elements are taken out by a number of a comprehension, and nothing but arithmetic is called."""
    numbers = names_in(*(generator.target for generator in node.generators))
    inside = {id(each) for each in ast.walk(node.elt)}
    called = (call.name for call in line.calls if id(call.node) in inside)
    return _is_taken_by(numbers, node.elt) and all(map(_is_arithmetic, called))


def _takes_elements(loop: ast.For | ast.While) -> bool:
    """Return whether elements are taken out by a number of the loop: of a `while` loop what is added to."""
    if isinstance(loop, ast.For):
        return _is_taken_by(names_in(loop.target), loop)
    added = (each.target for each in ast.walk(loop) if isinstance(each, ast.AugAssign))
    return _is_taken_by({target.id for target in added if isinstance(target, ast.Name)}, loop)


def _is_taken_by(numbers: Collection[str], node: ast.AST) -> bool:
    """Return whether something is taken out by one of these numbers."""
    indices = (each.slice for each in ast.walk(node) if isinstance(each, ast.Subscript))
    return not names_in(*indices).isdisjoint(numbers)
