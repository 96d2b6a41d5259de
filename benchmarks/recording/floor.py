"""This file compiles the floor of a crossing, `benchmarks/native/floor.cpp`, and makes a profiler of it."""

import gc
import os
import shlex
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any

from benchmarks import CHECKOUT, OUTPUT

SOURCE = CHECKOUT / "benchmarks" / "native" / "floor.cpp"


@cache
def floor() -> Any:
    """Return the compiled module."""
    path = OUTPUT / f"floor{sysconfig.get_config_var('EXT_SUFFIX')}"
    OUTPUT.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    options = f"-std=c++17 -O2 -Wall -shared -fPIC -I{sysconfig.get_path('include')}"
    subprocess.run([*compiler, *options.split(), str(SOURCE), "-o", str(path)], check=True)
    loader = ExtensionFileLoader("floor", str(path))
    spec = spec_from_loader("floor", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@contextmanager
def clock_read_twice(function: Callable[..., object]) -> Iterator[None]:
    """Have each call of a native function read the clock before and behind it, and write nothing."""
    module = floor()
    gc.collect()
    module.exchange(function)
    try:
        yield
    finally:
        module.put_back()
