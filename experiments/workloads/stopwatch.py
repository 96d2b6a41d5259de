"""This file names what a workload does for RL-Scope, and measures it with a stopwatch of its own beside."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import torch

import rlscope

#: Seconds of each operation since the last iteration ended, by this script's own clock.
STOPWATCH: defaultdict[str, float] = defaultdict(float)


@contextmanager
def operation(stage: str, name: str) -> Iterator[None]:
    """Name what happens in the block for RL-Scope, and measure it with the stopwatch."""
    with rlscope.operation(stage), rlscope.operation(name):
        start = time.perf_counter()
        yield
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        STOPWATCH[name] += time.perf_counter() - start
