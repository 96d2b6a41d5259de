"""This file times pieces of Python against each other in one process, and processes against each other."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.result import Value

#: Opens a recording of a profiler; what happens inside is recorded.
Recording = Callable[[], AbstractContextManager[object]]
#: Runs the measured piece that many times.
Loop = Callable[[int], Any]


def median(samples: Sequence[float]) -> Value:
    """Return the median, with a 95 % bootstrap interval."""
    if len(samples) < 2:
        return Value(float(np.median(samples)))
    found = stats.bootstrap((samples,), np.median, method="percentile", n_resamples=2000, rng=0)
    interval = found.confidence_interval
    return Value(float(np.median(samples)), float(interval.low), float(interval.high))


def _time_ns(loop: Loop, calls: int) -> float:
    started_ns = time.perf_counter_ns()
    loop(calls)
    return time.perf_counter_ns() - started_ns


def added_ns(
    plain: Loop,
    variants: Mapping[str, tuple[Loop, Recording]],
    calls: int,
    repeats: int,
    time_ns: Callable[[Loop, int], float] = _time_ns,
) -> dict[str, Value]:
    """Return how much longer one pass takes in each variant than in `plain`, in ns, which `time_ns` measures.

    A repeat runs `plain` and every variant once, in random order; differences are taken within a repeat, so that a
    machine that changes its speed changes both. Starting and stopping a recording is not part of the time.
    """
    order = np.random.default_rng(0)
    names = list(variants)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(repeats):
        times_ns: dict[str, float] = {}
        for index in order.permutation(len(names) + 1):
            if index == len(names):
                times_ns["plain"] = time_ns(plain, calls)
                continue
            loop, recording = variants[names[index]]
            with recording():
                loop(WARM_UP_CALLS)
                times_ns[names[index]] = time_ns(loop, calls)
        for name in names:
            samples[name].append((times_ns[name] - times_ns["plain"]) / calls)
    return {name: median(found) for name, found in samples.items()}


#: The first calls of a recording give names their numbers and fetch the first chunk.
WARM_UP_CALLS = 1000


def command_ns(commands: Mapping[str, Callable[[], Sequence[str]]], repeats: int) -> dict[str, list[int]]:
    """Return the wall time of each command from start to exit, in rounds of random order; one round more is thrown
    away.
    """
    order = np.random.default_rng(0)
    names = list(commands)
    times_ns: dict[str, list[int]] = {name: [] for name in names}
    for repeat in range(repeats + 1):
        for index in order.permutation(len(names)):
            command = commands[names[index]]()
            started_ns = time.perf_counter_ns()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if repeat:
                times_ns[names[index]].append(time.perf_counter_ns() - started_ns)
    return times_ns
