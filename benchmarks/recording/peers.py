"""This file holds rlscope and the profilers beside it: each is a context manager that records its block."""

import cProfile
import gc
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyinstrument
import torch
import viztracer

import rlscope
from benchmarks import OUTPUT

#: Calls that VizTracer keeps; it overwrites the oldest.
VIZTRACER_ENTRIES = 1_000_000


@contextmanager
def nothing() -> Iterator[None]:
    """Record nothing; what the others are compared with."""
    gc.collect()
    yield


@contextmanager
def rlscope_recording() -> Iterator[Path]:
    """Record all CPU layers into a fresh directory on the disk that the checkout is on; yield it."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(dir=OUTPUT))
    try:
        with rlscope.profile(output=directory / "trace"):
            gc.collect()
            yield directory / "trace"
    finally:
        shutil.rmtree(directory)


@contextmanager
def cprofile() -> Iterator[None]:
    """Run CPython's own deterministic profiler: sums per function, no trace."""
    profiler = cProfile.Profile()
    gc.collect()
    with profiler:
        yield


@contextmanager
def viztracer_recording() -> Iterator[viztracer.VizTracer]:
    """Run VizTracer with its defaults: every Python and C function."""
    tracer = viztracer.VizTracer(tracer_entries=VIZTRACER_ENTRIES, verbose=0)
    gc.collect()
    tracer.start()
    try:
        yield tracer
    finally:
        tracer.stop()
        tracer.clear()


@contextmanager
def pyinstrument_recording() -> Iterator[None]:
    """Run pyinstrument with its defaults: a sample of the stack every millisecond."""
    profiler = pyinstrument.Profiler()
    gc.collect()
    profiler.start()
    try:
        yield
    finally:
        profiler.stop()


@contextmanager
def torch_profiler() -> Iterator[torch.profiler.profile]:
    """Run torch.profiler with its defaults, CPU activities: every operator of PyTorch."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        gc.collect()
        yield profiler
