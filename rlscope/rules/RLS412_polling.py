"""Wait for what is to come instead of asking for it again and again.

**Why it is slow.** Who asks in a loop whether a queue has something keeps a core busy, which those who are to fill the
queue then lack.

**Slow**

    while True:
        try:
            batch = queue.get_nowait()
        except queue.Empty:
            continue

**Faster**

    batch = queue.get()                            # sleeps until there is one; or get(timeout=1.0)

**How it is found.** A process is in functions that ask for half of its training or more, and cores are short. Or an
eighth of the training is in a `while` loop that does nothing but ask, beside other threads or processes.

**When it is wrong.** Where cores are free, asking has the answer some microseconds earlier.
"""

import ast
from collections.abc import Iterator, Sequence

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found
from rlscope.rules.source import Line
from rlscope.text.numbers import percent

_ASKING = (
    "multiprocessing/queues.py Queue.get_nowait", "multiprocessing/queues.py Queue.empty",
    "multiprocessing/queues.py SimpleQueue.empty", "queue.py Queue.get_nowait", "queue.py Queue.empty",
    "multiprocessing/pool.py AsyncResult.ready", "multiprocessing/pool.py ApplyResult.ready",
    "concurrent/futures/_base.py Future.done",
)  # fmt: skip
_MOST = 0.5
_WAITING = frozenset({"acquire", "get", "join", "recv", "select", "sleep", "wait"})


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for a process that asks busily while others of the run need its core."""
    process, share, place = evidence.stacks.busy_in(_ASKING)
    if share >= _MOST and len(evidence.tables.processes) > 1:
        change = (
            f"let {process} wait, as get() does: for {percent(share)} of its time it asks whether something has come"
            f"{where(place)}, and keeps a core from the others"
        )
        yield Found(change, "functions: purpose=training", evidence.seconds(Cause.NO_CORE), place)
        return
    spinning = evidence.stacks.passing(lambda name: False, is_on_line=_spins, is_whole=True)
    if spinning is not None and max(len(evidence.tables.processes), evidence.threads_in_operations) > 1:
        change = (
            f"wait, as get() does: {evidence.share(spinning.seconds)} of the training ask whether something has come"
            f"{where(spinning.place)}, and keep a core, or the interpreter's lock, from the others"
        )
        yield Found(change, "functions: purpose=training", spinning.seconds, spinning.place)


def _spins(line: Line) -> str:
    """Return `while` for a line of a loop that does nothing until something has come."""
    begun = next((node for node in line.nodes if isinstance(node, ast.While)), None)
    loop = begun or (line.loop.node if line.loop is not None else None)
    return "while" if isinstance(loop, ast.While) and _only_asks(loop.body) and not _sleeps(loop) else ""


def _only_asks(statements: Sequence[ast.stmt]) -> bool:
    """Return whether statements do nothing but what leaves the loop."""
    return all(_is_asking(each) or isinstance(each, ast.Pass | ast.Continue) for each in statements)


def _is_asking(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return (_leaves(statement.body) or _only_asks(statement.body)) and _only_asks(statement.orelse)
    if isinstance(statement, ast.Try):
        is_tried = _leaves(statement.body) or _only_asks(statement.body)
        return is_tried and all(_only_asks(handler.body) for handler in statement.handlers)
    return False


def _leaves(statements: Sequence[ast.stmt]) -> bool:
    return bool(statements) and isinstance(statements[-1], ast.Return | ast.Break)


def _sleeps(loop: ast.While) -> bool:
    """Return whether a call in the loop may wait, by its name."""
    calls = (node for node in ast.walk(loop) if isinstance(node, ast.Call))
    names = (getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls)
    return any(name in _WAITING for name in names)
