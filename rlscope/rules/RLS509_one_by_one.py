"""Ask a network once for all of a batch, not for one element after the other.

**Why it is slow.** A call of a small network takes 50 to 200 µs however many rows its input has. To ask for 24 answers
one by one takes 20 times as long as all at once.

**Slow**

    for observation in observations:
        actions.append(policy(observation).argmax())

**Faster**

    actions = policy(torch.stack(observations)).argmax(-1)

**How it is found.** What is called in a loop is given the loop's own variable. An eighth of the training or more is
inference there.

**When it is wrong.** Where each answer needs the one before there is nothing to put together.
"""

import ast
import builtins
from collections.abc import Iterator
from typing import TypeGuard

from rlscope.model import INFERENCE
from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found
from rlscope.rules.source import Line


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for answers to one element of a loop at a time."""
    passing = evidence.passing(lambda name: False, INFERENCE, _gives_one, is_whole=True)
    if passing is not None:
        change = (
            f"call {passing.function} once for all, not for one element after the other: it has "
            f"{evidence.share(passing.seconds)} of the training{where(passing.place)}"
        )
        yield Found(change, "functions: stage=inference", *passing[1:])


def _gives_one(line: Line) -> str:
    loop = _names(line.loop.node.target) if line.loop and isinstance(line.loop.node, ast.For) else frozenset()
    inner = [(node, _names(*(each.target for each in node.generators))) for node in line.nodes if _is_loop(node)]

    def is_given_one(call: ast.Call) -> bool:
        # The variable of a comprehension is one of its own: a call around it is given all.
        around = (names for node, names in inner if any(each is call for each in ast.walk(node)))
        return not loop.union(*around).isdisjoint(_names(*call.args))

    # What Python itself has, such as `len`, asks no network.
    return line.first(lambda call: not hasattr(builtins, call.name) and is_given_one(call.node))


def _is_loop(node: ast.AST) -> TypeGuard[ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp]:
    return isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)


def _names(*nodes: ast.AST) -> frozenset[str]:
    return frozenset(each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name))
