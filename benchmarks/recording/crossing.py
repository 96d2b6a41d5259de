"""This file measures the time that recording adds to one call of a native function from Python.

In a hot loop, and where the caches hold other data. The floor is measured beside it: the entry of the same call was
exchanged, as the recorder does, for one that reads the clock twice.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import repeat

import nvtx
import torch

import rlscope
from benchmarks.recording import peers
from benchmarks.recording.floor import clock_read_twice, floor
from benchmarks.result import Target, Value, print_results, results
from benchmarks.timing import added_ns

CALLS = 200_000
ADDITIONS = 100_000
TORCH_PROFILER_CALLS = 20_000  # it keeps about 1 kB of each call in memory
REPEATS = 25
#: So many calls of which each comes after as many other bytes were written as the second cache holds, and more.
COLD_CALLS, OTHER_BYTES = 300, 4 << 20
FLOOR, FLOORS = "floor: the clock read twice", 1.3


@contextmanager
def rlscope_recording() -> Iterator[None]:
    """Record the functions of `math` besides the known boundaries."""
    with peers.rlscope_recording():
        rlscope.wrap_module(math)
        yield


def square_roots(calls: int) -> None:
    """Make the shortest call there is: what is added shows best."""
    function = math.sqrt
    for _ in repeat(None, calls):
        function(2.0)


def square_roots_in_ranges(calls: int) -> None:
    """Open a range around each call, as a program with NVTX does, which intercepts nothing."""
    function, push, pop = math.sqrt, nvtx.push_range, nvtx.pop_range
    for _ in repeat(None, calls):
        push("math.sqrt")
        function(2.0)
        pop()


def additions(calls: int) -> None:
    """Make a call that a training makes all the time."""
    function, tensor = torch.add, torch.zeros(1)
    for _ in repeat(None, calls):
        function(tensor, tensor)


def cold_square_roots(calls: int) -> float:
    """Make the shortest call, and return its time in ns: writing other data takes a thousand times as long."""
    found: float = floor().cold_call_ns(math.sqrt, 2.0, calls, OTHER_BYTES)
    return found


def print_beside_floor(metric: str, found: Mapping[str, Value]) -> None:
    """Print what was added beside all others; the target is a multiple of the floor, unless noise hides the floor."""
    others = dict(found)
    target = Target(FLOORS * found[FLOOR].value) if found[FLOOR].low > 0 else None
    print_results(results(metric, "ns", others.pop("rlscope"), others, target))


def main() -> None:
    """Measure both calls, and the first one where caches are cold."""
    variants = {
        "rlscope": (square_roots, rlscope_recording),
        FLOOR: (square_roots, partial(clock_read_twice, math.sqrt)),
        "cProfile": (square_roots, peers.cprofile),
        "VizTracer": (square_roots, peers.viztracer_recording),
        "pyinstrument (samples)": (square_roots, peers.pyinstrument_recording),
        "nvtx push_range + pop_range, no tool attached": (square_roots_in_ranges, peers.nothing),
    }
    found = added_ns(square_roots, variants, CALLS, REPEATS)
    print_beside_floor("crossing, math.sqrt", found)
    variants = {
        "rlscope": (cold_square_roots, rlscope_recording),
        FLOOR: (cold_square_roots, partial(clock_read_twice, math.sqrt)),
    }
    found = added_ns(cold_square_roots, variants, COLD_CALLS, REPEATS, lambda loop, calls: calls * loop(calls))
    print_beside_floor("crossing, math.sqrt, cold caches", found)

    torch.set_num_threads(1)
    variants = {
        "rlscope": (additions, peers.rlscope_recording),
        FLOOR: (additions, partial(clock_read_twice, torch.add)),
        "cProfile": (additions, peers.cprofile),
        "VizTracer": (additions, peers.viztracer_recording),
        "pyinstrument (samples)": (additions, peers.pyinstrument_recording),
    }
    found = added_ns(additions, variants, ADDITIONS, REPEATS)
    with_profiler = {"torch.profiler": (additions, peers.torch_profiler)}
    found |= added_ns(additions, with_profiler, TORCH_PROFILER_CALLS, REPEATS)
    print_beside_floor("crossing, torch.add", found)


if __name__ == "__main__":
    main()
