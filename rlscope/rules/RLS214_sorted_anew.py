"""Keep what is sorted in order instead of sorting all of it anew.

**Why it is slow.** To sort 100,000 numbers takes NumPy 5 ms and Python 20 ms, at each call, though few of them are new.

**Slow**

    threshold = np.percentile(self.all_returns, 90)        # at each step
    worst = sorted(buffer, key=lambda each: each.priority)[0]

**Faster**

    if step % 1000 == 0:
        threshold = np.percentile(self.all_returns[-10_000:], 90)
    worst = heap[0]                                         # heapq, or np.argpartition for the few largest

**How it is found.** Lines that sort, or ask for percentiles and medians, have an eighth of the training or more. They
do so in Python, NumPy or PyTorch.

**When it is wrong.** Where all of it is new each time it has to be sorted.
"""

from collections.abc import Iterator

from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.rules.source import called

_FUNCTIONS = ("percentile", "quantile", "median", "nanmedian", "nanpercentile", "nanquantile")
_SORTS = ("sort", "argsort", "lexsort")
_SORTING = (
    *(f"numpy/lib/{file} {name}" for file in ("_function_base_impl.py", "function_base.py") for name in _FUNCTIONS),
    *(f"numpy/_core/fromnumeric.py {name}" for name in _SORTS),
    "numpy/lib/_arraysetops_impl.py unique",
    "heapq.py nsmallest", "heapq.py nlargest", "statistics.py median", "statistics.py quantiles",
)  # fmt: skip
_OF_TORCH = ("sort", "argsort", "msort", "quantile", "nanquantile", "median", "nanmedian")
_NATIVE = tuple(f"torch.{owner}{name}" for name in _OF_TORCH for owner in ("", "TensorBase."))
_ON_LINES = frozenset({"sorted", ".sort", ".argsort", *(f"numpy.{name}" for name in _SORTS)})


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for what is sorted again and again."""
    yield from evidence.calls(
        (*_SORTING, *_NATIVE), "sort less often, or less: keep a heap, a sum tree or the last few", called(_ON_LINES)
    )
