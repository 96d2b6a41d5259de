"""jax.profiler: `trace` starts and stops through the first module, programs through the second."""

from rlscope.record.hooks import ProfilerHook

PROFILER = ProfilerHook(
    name="jax.profiler",
    modules=("jax._src.profiler", "jax.profiler"),
    takes=("start_trace",),
    returns=("stop_trace", "stop_and_get_fdo_profile"),
)
