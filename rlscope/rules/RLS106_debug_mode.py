"""Turn off what is for finding errors.

**Why it is slow.** `tracemalloc` notes the stack of each allocation, which makes a program up to 20 times as slow.
`CUDA_LAUNCH_BLOCKING=1` waits for each kernel, and without its compiler a library computes in Python.

**Slow**

    tracemalloc.start(10)
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"

**Faster**

    python train.py                                # only while looking for an error

**How it is found.** When the recording begins or ends, `tracemalloc` traces, or Python is in its development mode.
Variables are looked at, too: `CUDA_LAUNCH_BLOCKING`, `NUMBA_DISABLE_JIT`, `JAX_DISABLE_JIT`, `JAX_DEBUG_NANS`,
`PYTORCH_NO_CUDA_MEMORY_CACHING`, `TORCH_DISTRIBUTED_DEBUG`, `PYTHONMALLOC`.

**When it is wrong.** How much it costs is not known from one run: try it without.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence, where
from rlscope.rules.finding import Found, Place


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for modes that are for finding errors."""
    modes = evidence.properties.get("debug_modes")
    named = [mode for mode in modes if isinstance(mode, str)] if isinstance(modes, list) else []
    if named:
        place = evidence.made(("start",), Place()) if "tracemalloc" in named else Place()
        change = f"turn off what is for finding errors: {', '.join(named)}{where(place)}"
        yield Found(change, "the process's debug_modes", evidence.training_s, place)
