"""Ask a network once for all of a batch, not for one element after the other.

**Why it is slow.** A call of a small network takes 50 to 200 µs however many rows its input has. To ask for 24 answers
one by one takes 20 times as long as all at once.

**Slow**

    for observation in observations:
        actions.append(policy(observation).argmax())

**Faster**

    actions = policy(torch.stack(observations)).argmax(-1)

**How it is found.** What is called in a loop is given the loop's own variable, or what is made of it. An eighth of the
training or more is inference there, and calls of PyTorch take less than 20 µs on average.

**When it is wrong.** Where each answer needs the one before there is nothing to put together.
"""

import ast
import builtins
from collections.abc import Iterator
from typing import TypeGuard

from rlscope.model import INFERENCE
from rlscope.rules.evidence import SHORT_CALL_S, Evidence, where
from rlscope.rules.finding import Found
from rlscope.rules.source import Call, Line, names_in


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for answers to one element of a loop at a time, by calls that take hardly longer for many."""
    passing = evidence.stacks.passing(lambda name: False, INFERENCE, _gives_one, is_whole=True)
    if passing is not None and evidence.call_s < SHORT_CALL_S:
        change = (
            f"call {passing.function} once for all, not for one element after the other: it has "
            f"{evidence.share(passing.seconds)} of the training{where(passing.place)}"
        )
        yield Found(change, "functions: stage=inference", *passing[1:])


def _gives_one(line: Line) -> str:
    loop = _of_elements(line.loop.node) if line.loop and isinstance(line.loop.node, ast.For) else frozenset()
    inner = [(node, names_in(*(each.target for each in node.generators))) for node in line.nodes if _is_loop(node)]

    def elements(call: ast.Call) -> frozenset[str]:
        # The variable of a comprehension is one of its own: a call around it is given all.
        return loop.union(*(names for node, names in inner if any(each is call for each in ast.walk(node))))

    given = [call for call in line.calls if _asks(call) and elements(call.node) & names_in(*call.node.args)]
    # Where each element has a network of its own, there is no call for all.
    if not given or any(elements(call.node) & names_in(call.node.func) for call in given):
        return ""
    return given[0].text


def _asks(call: Call) -> bool:
    """Return whether a call may ask a network: what Python itself has, such as `len`, does not."""
    return not hasattr(builtins, call.name)


def _of_elements(loop: ast.For) -> frozenset[str]:
    """Return the names of a loop's elements, and of what is made of one in it."""
    found = names_in(loop.target)
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and not found.isdisjoint(names_in(node.value)):
                found |= names_in(*(target for target in node.targets if isinstance(target, ast.Name | ast.Tuple)))
    return found


def _is_loop(node: ast.AST) -> TypeGuard[ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp]:
    return isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
