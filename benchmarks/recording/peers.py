"""This file holds rlscope and the profilers beside it: each is a context manager that records its block."""

import cProfile
import gc
import os
import shutil
import signal
import subprocess
import sys
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
def py_spy() -> Iterator[None]:
    """Run py-spy: a process that stops this one a thousand times a second, and reads its stack."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    gc.collect()
    with tempfile.TemporaryDirectory(dir=OUTPUT) as directory:
        options = f"record --rate 1000 --format raw --output {directory}/stacks --pid {os.getpid()}"
        command = [str(Path(sys.executable).with_name("py-spy")), *options.split()]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert process.stdout is not None
        said = ""
        while "Sampling process" not in said:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"py-spy was expected to sample this process, but it ended: {said}")
            said += line
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


@contextmanager
def scalene_recording() -> Iterator[None]:
    """Let Scalene, under which this process was started, sample it: by default a hundred times a second."""
    from scalene import scalene_profiler  # replaces parts of the standard library

    gc.collect()
    scalene_profiler.start()
    try:
        yield
    finally:
        scalene_profiler.stop()


@contextmanager
def torch_profiler() -> Iterator[torch.profiler.profile]:
    """Run torch.profiler with its defaults, CPU activities: every operator of PyTorch."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        gc.collect()
        yield profiler
