"""Train without a debugger, a line tracer or another profiler.

**Why it is slow.** Whoever traces in Python is called at each line or call: code becomes 2 to 50 times as slow.

**Slow**

    python -m trace --count train.py               # pdb, coverage, line_profiler, cProfile, torch.profiler

**Faster**

    python train.py

**How it is found.** Stacks pass functions of a tracer or a profiler in an eighth of the training or more; or the
interpreter had a tracing or profiling function set where stacks were seen, or `cProfile` was begun. Then the bound is
all that Python takes meanwhile.

**When it is wrong.** The tool may be there on purpose; then the times of this run are no times of the training.

**Reported:** pytorch/pytorch #134191: `pydevd` was still active.
"""

from collections.abc import Iterator

from rlscope.model import Category
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.stacks import LEAST_STACKS

_TRACERS = (
    "bdb.py ", "pdb.py ", "trace.py ", "cProfile.py ", "profile.py Profile.", "coverage/", "line_profiler/",
    "viztracer/", "torch/profiler/profiler.py ", "torch/autograd/profiler.py profile.",
)  # fmt: skip
_CHANGE = "train without a tracer or profiler"


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for functions of tracers and profilers, and for what the interpreter calls at each line or call."""
    found = list(evidence.calls(_TRACERS, _CHANGE))
    share = _traced_share(evidence)
    if found or not share:
        yield from found
        return
    seconds = share * sum(row.seconds for row in evidence.training if row.category == Category.PYTHON.label)
    said = f"{_CHANGE}: one is told of each call or line in {evidence.share(seconds)} of the training, all of Python's"
    yield Found(said, "the process's traced_stacks and profiler", seconds)


def _traced_share(evidence: Evidence) -> float:
    """Return in which part of Python's time a function is called at each line or call."""
    read, traced = (evidence.properties.get(name) for name in ("stacks_read", "traced_stacks"))
    if isinstance(read, int) and isinstance(traced, int) and traced >= LEAST_STACKS:
        return min(traced / max(read, 1), 1.0)
    return 1.0 if evidence.properties.get("profiler") == "cProfile" else 0.0
