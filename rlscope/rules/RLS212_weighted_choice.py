"""Draw many elements at once, without a permutation of all.

**Why it is slow.** `choice` with `p` adds up all weights at each call. Without replacement it shuffles all numbers:
1 ms for a buffer of 100,000, however few are drawn.

**Slow**

    index = np.random.choice(len(buffer), 64, replace=False)
    index = np.random.choice(len(buffer), 64, p=priorities / priorities.sum())

**Faster**

    index = rng.integers(len(buffer), size=64)                 # twice the same does no harm
    index = tree.sample(rng.random(64) * tree.total)           # a sum tree, or np.searchsorted of sums kept

**How it is found.** Lines of the program that call `choice` with `p` or `replace=False`, or `random.choices` with
`weights`, have an eighth of the training
or more.

**When it is wrong.** Where all sums change between two draws there is nothing to keep.

**Reported:** numpy/numpy #2764.
"""

import ast
from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.source import Call, Line, has_weights


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for draws whose price is that of all there is to draw from."""
    yield from evidence.calls(
        (), "draw by random integers, or from sums of weights that are kept", _draws, is_whole=True
    )


def _draws(line: Line) -> str:
    return line.first(lambda call: has_weights(call) or _is_without_replacement(call))


def _is_without_replacement(call: Call) -> bool:
    given = {each.arg: each.value for each in call.node.keywords}
    replace = given.get("replace", call.node.args[2] if len(call.node.args) > 2 else None)
    return call.name.endswith(".choice") and isinstance(replace, ast.Constant) and replace.value is False
