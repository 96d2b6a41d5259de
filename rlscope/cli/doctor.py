"""`rlscope doctor`: is this machine ready, and what to do where it is not."""

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click

from rlscope.build import built_from, recorder_text
from rlscope.cli.checks import Check, exit_status, print_checks
from rlscope.cli.cupti_check import check_cuda


def check_platform() -> Check:
    """Recording needs Linux on x86-64."""
    found = f"{platform.system()} {platform.machine()}, kernel {platform.release()}"
    is_ready = platform.system() == "Linux" and platform.machine() == "x86_64"
    return Check("platform", is_ready, found, "record on Linux x86-64; traces can be analysed anywhere")


def check_python() -> Check:
    """The versions whose calling conventions are known."""
    found = f"{platform.python_implementation()} {platform.python_version()}"
    is_ready = platform.python_implementation() == "CPython" and (3, 10) <= sys.version_info[:2] <= (3, 13)
    return Check("python", is_ready, found, "use CPython 3.10 to 3.13")


def check_recorder() -> Check:
    """The extension module that records."""
    try:
        from rlscope import _native
    except ImportError as error:
        return Check("recorder", False, str(error), "install rlscope for this Python: pip install .")
    return Check("recorder", True, f"{_native.__file__}, {recorder_text(built_from())}")


def check_clock() -> Check:
    """Whether the time-stamp counter can be used: a record then costs a third."""
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
    """A C++ compiler is needed to build, not to run."""
    found = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
    return Check(
        "compiler", None if found is None else True, found or "none", "only building needs one: apt-get install g++"
    )


def check_disk() -> Check:
    """Room for traces where the command was started: a busy training writes about 1 MB a second."""
    free = shutil.disk_usage(os.getcwd()).free
    return Check(
        "disk", free > 1 << 30, f"{free / 1e9:.1f} GB free here", "free some space, or record with -o on another disk"
    )


CHECKS: tuple[Callable[[], Check], ...] = (
    check_platform,
    check_python,
    check_recorder,
    check_clock,
    check_compiler,
    check_disk,
)


def _processor_flags() -> set[str]:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split(":", 1)[1].split())
    return set()


@click.command(epilog="Example: rlscope doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def doctor(as_json: bool) -> int:
    """Check whether this machine is ready to record. Exit status 1 where something must be fixed."""
    checks = [*(check() for check in CHECKS), *check_cuda()]
    if as_json:
        click.echo(json.dumps({"checks": [asdict(check) for check in checks]}, indent=2))
    else:
        print_checks(checks)
    return exit_status(checks)
