"""Take elements out of a deque, a dict or a set, not out of the front or the middle of a list.

**Why it is slow.** `list.pop(0)` moves all that is behind, and `x in list`, `index`, `remove` and `count` compare one
element after the other: 1 ms for 100,000.

**Slow**

    if len(buffer) > capacity:
        buffer.pop(0)

**Faster**

    buffer[step % capacity] = transition           # or collections.deque(maxlen=capacity)

**How it is found.** Lines of the program that do this, `del buffer[0]` too, have an eighth of the training or more.
What is looked through is given a list or a deque in the same file.

**When it is wrong.** Of an object that is no list the line is slow for another reason.
"""

import ast
from collections.abc import Iterator
from typing import TypeGuard

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.source import Call, Line

_COMPARING = frozenset({".index", ".remove", ".count"})


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for what walks through a list."""
    yield from evidence.calls((), "keep it in a ring, a deque, a dict or a set instead of a list", _walks)


def _walks(line: Line) -> str:
    for call in line.calls:
        if _is_at_front(call) or (call.name in _COMPARING and call.text.split(".")[-2] in line.lists):
            return call.text
    deleted = (each for node in line.nodes if isinstance(node, ast.Delete) for each in node.targets)
    first = next((each for each in deleted if _is_first(each) and _name(each.value) in line.lists), None)
    if first is not None:
        return f"del {ast.unparse(first)}"
    compared = (node for node in line.nodes if isinstance(node, ast.Compare) and not line.calls)
    return next((f"in {ast.unparse(node.comparators[0])}" for node in compared if _is_looked_for(node, line)), "")


def _is_first(node: ast.expr) -> TypeGuard[ast.Subscript]:
    index = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(index, ast.Constant) and index.value == 0


def _name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _is_at_front(call: Call) -> bool:
    first = call.node.args[0] if call.node.args else None
    return call.name in (".pop", ".insert") and isinstance(first, ast.Constant) and first.value == 0


def _is_looked_for(node: ast.Compare, line: Line) -> bool:
    """Return whether something is looked for in a list."""
    is_in = isinstance(node.ops[0], ast.In | ast.NotIn)
    return is_in and _name(node.comparators[0]) in line.lists
