"""Start processes once.

**Why it is slow.** A process takes 10 ms to start by `fork`, and as long as all imports by `spawn`.

**Slow**

    for epoch in range(epochs):
        for batch in DataLoader(data, num_workers=4): ...

**Faster**

    loader = DataLoader(data, num_workers=4, persistent_workers=True)
    for epoch in range(epochs):
        for batch in loader: ...

**How it is found.** Starting and ending processes that lived one after the other has an eighth of the training or
more.

**When it is wrong.** Workers that leak memory may have to be replaced now and then.

**Reported:** pytorch/pytorch #15849 and #35795, metatensor/metatrain #1271.
"""

from collections.abc import Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found

_CHANGE = "start processes once: a pool made before the loop, workers that stay (persistent_workers=True), or none"
#: They start processes, or wait for their end.
_STARTING = (
    "multiprocessing/context.py BaseContext.Pool", "multiprocessing/pool.py Pool.__init__",
    "multiprocessing/pool.py Pool.__exit__", "multiprocessing/pool.py Pool.terminate",
    "multiprocessing/process.py BaseProcess.start",
    "concurrent/futures/process.py ProcessPoolExecutor.__init__",
    "concurrent/futures/process.py ProcessPoolExecutor.shutdown",
)  # fmt: skip
_MAKERS = ("DataLoader", "Pool", "ProcessPoolExecutor")


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for processes that are started again and again."""
    found = [*evidence.cause(Cause.PROCESSES, _CHANGE), *evidence.calls(_STARTING, _CHANGE)]
    if found and evidence.starts_processes_anew:
        most = max(found, key=lambda each: each.seconds or 0.0)
        place = evidence.made(_MAKERS, most.place)
        yield most._replace(change=f"{_CHANGE}{where(place)}", place=place)
