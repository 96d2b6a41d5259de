"""RL-Scope: where does the training time of a deep-RL program go, in every process and layer?

With nothing recording, everything here does nothing at a cost of some tens of nanoseconds.
"""

import sys

if "t" in sys.abiflags:
    raise ImportError("rlscope needs a Python with the global interpreter lock, and this one is free-threaded")

from rlscope import errors
from rlscope._native import operation, phase
from rlscope.record.progress import report_progress, report_sample
from rlscope.version import __version__

__all__ = [
    "__version__",
    "analyze",
    "errors",
    "load_ipython_extension",
    "operation",
    "phase",
    "profile",
    "report_progress",
    "report_sample",
    "wrap_module",
]

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from rlscope.notebook import analyze, load_ipython_extension
    from rlscope.record.profile import profile, wrap_module


def __getattr__(name: str) -> object:
    """Import what most programs do not use when it is asked for."""
    if name in ("profile", "wrap_module"):
        from rlscope.record import profile as used

        return getattr(used, name)
    if name in ("analyze", "load_ipython_extension"):
        from rlscope import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module 'rlscope' has no attribute {name!r}")
