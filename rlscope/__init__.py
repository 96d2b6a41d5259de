"""RL-Scope: where does the training time of a deep-RL program go, in every process and layer?

With nothing recording, everything here does nothing at a cost of some tens of nanoseconds.
"""

from rlscope import errors
from rlscope._native import operation, phase
from rlscope.record.profile import profile, wrap_module
from rlscope.record.progress import report_progress
from rlscope.version import __version__

__all__ = ["__version__", "errors", "operation", "phase", "profile", "report_progress", "wrap_module"]
