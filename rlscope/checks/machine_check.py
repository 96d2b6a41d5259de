"""This file checks everything but GPUs that recording needs of this machine."""

import os
import platform
import shutil
import sys
from pathlib import Path

from rlscope.build import built_from, recorder_text
from rlscope.checks.check import Check
from rlscope.text.numbers import size


def check_machine() -> list[Check]:
    """Return one line each for the platform, Python, the recorder, the clock, the compiler and the disk."""
    return [check_platform(), check_python(), check_recorder(), check_clock(), check_compiler(), check_disk()]


def check_platform() -> Check:
    """Check for Linux on x86-64, which recording needs."""
    found = f"{platform.system()} {platform.machine()}, kernel {platform.release()}"
    is_ready = platform.system() == "Linux" and platform.machine() == "x86_64"
    return Check("platform", is_ready, found, "record on Linux x86-64; traces can be analysed anywhere")


def check_python() -> Check:
    """Check for the versions of Python whose calling conventions are known."""
    found = f"{platform.python_implementation()} {platform.python_version()}"
    is_ready = platform.python_implementation() == "CPython" and (3, 10) <= sys.version_info[:2] <= (3, 15)
    return Check("python", is_ready, found, "use CPython 3.10 to 3.15")


def check_recorder() -> Check:
    """Check that the extension module that records can be loaded."""
    try:
        from rlscope import _native
    except ImportError as error:
        return Check("recorder", False, str(error), "install rlscope for this Python: pip install .")
    return Check("recorder", True, f"{_native.__file__}, {recorder_text(built_from())}")


def check_clock() -> Check:
    """Check whether the time-stamp counter can be used: an event then costs a third."""
    path = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    source = path.read_text().strip() if path.exists() else "unknown"
    flags = _processor_flags()
    is_fast = source == "tsc" and {"constant_tsc", "nonstop_tsc"} <= flags
    found = f"kernel clock source {source}, " + (
        "time-stamp counter" if is_fast else "CLOCK_MONOTONIC, about 30 ns more per event"
    )
    return Check(
        "clock",
        True if is_fast else None,
        found,
        "recording works; boot with clocksource=tsc where the machine allows it",
    )


def check_compiler() -> Check:
    """Look for a C++ compiler, which building needs and running does not."""
    found = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
    return Check(
        "compiler", None if found is None else True, found or "none", "only building needs one: apt-get install g++"
    )


def check_disk() -> Check:
    """Check for room for traces in the working directory: a busy training writes about 1 MB a second."""
    free = shutil.disk_usage(os.getcwd()).free
    return Check(
        "disk", free > 1 << 30, f"{size(free)} free here", "free some space, or record with -o on another disk"
    )


def _processor_flags() -> set[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # as in a sandbox without /proc
        return set()
    return next((set(line.split(":", 1)[1].split()) for line in lines if line.startswith("flags")), set())
