"""torch.profiler and torch.autograd.profiler: every recording of theirs is prepared, enabled, disabled.

The function that is told of the end is replaced, not the one that disables: that one would show in the profile.
"""

from rlscope.record.hooks import ProfilerHook

PROFILER = ProfilerHook(
    name="torch.profiler",
    modules=("torch.autograd.profiler",),
    takes=("_prepare_profiler",),
    returns=("_run_on_profiler_stop",),
)
