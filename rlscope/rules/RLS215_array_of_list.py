"""Keep transitions in arrays that are made once, instead of making arrays of lists.

**Why it is slow.** `np.array` of a list looks at each element as an object of Python, 50 to 500 ns for each. It asks
each small array for its shape.

**Slow**

    observations = np.array([each.observation for each in batch])

**Faster**

    self.observations[index] = observation          # an array of the buffer's whole size, when it comes in
    observations = self.observations[indices]

**How it is found.** Lines of the program that make NumPy arrays of lists, or put many arrays together, have an eighth
of the training or more.

**When it is wrong.** Of an array `np.array` copies: then less copying is the change.

**Reported:** ageron/handson-ml #204.
"""

import ast
from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.source import Call, Line

_STACKING = tuple(f"numpy/_core/shape_base.py {name}" for name in ("stack", "vstack", "hstack", "atleast_2d"))
_MAKING = frozenset(f"numpy.{name}" for name in ("array", "asarray", "fromiter"))
_JOINING = frozenset(f"numpy.{name}" for name in ("concatenate", "stack", "vstack", "hstack"))
#: What may be a list of many; one that is written out has few.
_LISTS = (ast.ListComp, ast.GeneratorExp, ast.Name, ast.Attribute, ast.Call)


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for arrays that are made of objects of Python."""
    yield from evidence.calls(_STACKING, "keep it in arrays that are made once", _makes)


def _makes(line: Line) -> str:
    return line.first(lambda call: call.name in _MAKING | _JOINING and _is_of_list(call))


def _is_of_list(call: Call) -> bool:
    if not call.node.args:
        return False
    given = call.node.args[0]
    if any(isinstance(each, ast.Call) for each in ast.walk(given) if each is not given):
        return False  # making the list may be what takes the time
    is_list = isinstance(given, _LISTS) or (isinstance(given, ast.List | ast.Tuple) and call.name in _MAKING)
    return is_list and not call.targets & {ast.unparse(node) for node in ast.walk(given)}
