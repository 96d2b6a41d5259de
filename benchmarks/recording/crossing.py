"""This file measures the time that recording adds to one call of a native function from Python, in a hot loop."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat

import nvtx
import torch

import rlscope
from benchmarks.recording import peers
from benchmarks.result import Target, print_results, results
from benchmarks.timing import added_ns

CALLS = 200_000
ADDITIONS = 100_000
TORCH_PROFILER_CALLS = 20_000  # it keeps about 1 kB of each call in memory
REPEATS = 25
TARGET = Target(20)


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


def main() -> None:
    """Measure both calls."""
    variants = {
        "rlscope": (square_roots, rlscope_recording),
        "cProfile": (square_roots, peers.cprofile),
        "VizTracer": (square_roots, peers.viztracer_recording),
        "pyinstrument (samples)": (square_roots, peers.pyinstrument_recording),
        "nvtx push_range + pop_range, no tool attached": (square_roots_in_ranges, peers.nothing),
    }
    found = added_ns(square_roots, variants, CALLS, REPEATS)
    print_results(results("crossing, math.sqrt", "ns", found.pop("rlscope"), found, TARGET))

    torch.set_num_threads(1)
    variants = {
        "rlscope": (additions, peers.rlscope_recording),
        "cProfile": (additions, peers.cprofile),
        "VizTracer": (additions, peers.viztracer_recording),
        "pyinstrument (samples)": (additions, peers.pyinstrument_recording),
    }
    found = added_ns(additions, variants, ADDITIONS, REPEATS)
    with_profiler = {"torch.profiler": (additions, peers.torch_profiler)}
    found |= added_ns(additions, with_profiler, TORCH_PROFILER_CALLS, REPEATS)
    print_results(results("crossing, torch.add", "ns", found.pop("rlscope"), found, TARGET))


if __name__ == "__main__":
    main()
