"""Train without a debugger, a line tracer or another profiler.

**Why it is slow.** Whoever traces in Python is called at each line or call: code becomes 2 to 50 times as slow.

**Slow**

    python -m trace --count train.py               # pdb, coverage, line_profiler, cProfile, torch.profiler

**Faster**

    python train.py

**How it is found.** Stacks pass functions of a tracer or a profiler in a tenth of the training or more. What such a
tool takes in native code is not seen.

**When it is wrong.** The tool may be there on purpose; then the times of this run are no times of the training.

**Reported:** pytorch/pytorch #134191: `pydevd` was still active.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found

_TRACERS = (
    "bdb.py ", "pdb.py ", "trace.py ", "cProfile.py ", "profile.py Profile.", "coverage/", "line_profiler/",
    "viztracer/", "torch/profiler/profiler.py ", "torch/autograd/profiler.py profile.",
)  # fmt: skip


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for functions of tracers and profilers."""
    yield from evidence.calls(_TRACERS, "train without a tracer or profiler")
