"""This file finds what a manifest says of the machine: how many cores a command may use of it, and how busy it was."""

import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from rlscope.boot import boot_id

_ROOT = Path("/")


@cache
def machine() -> dict[str, Any]:
    """Return what a manifest says of the machine."""
    return {
        "hostname": platform.node(),
        "cpu": _first_value("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "usable_cores": _usable_cores(),
        "quota_cores": quota_cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "boot_id": boot_id(),
    }


def load(root: Path = _ROOT) -> dict[str, float | int | None]:
    """Return how busy the machine is.

    Args:
        root: where /proc and /sys lie.

    Returns:
        `load_average`, the threads of all programs that were ready to run or waited for a disk, averaged over a minute;
        and two clocks of which differences count: `stolen_ns`, the time that a virtual machine's cores were not run
        though something was ready on them, and `throttled_ns`, that in which a quota stopped this process's group.
        None is not known.
    """
    average: float | None = None
    with suppress(OSError):
        average = round(os.getloadavg()[0], 2)
    stolen = None
    words = _text(root / "proc/stat").partition("\n")[0].split()
    if len(words) > 8 and words[8].isdecimal():
        stolen = int(words[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    throttled = [_throttled_ns(group) for group in _groups(root)]
    known = [each for each in throttled if each is not None]
    return {"load_average": average, "stolen_ns": stolen, "throttled_ns": sum(known) if known else None}


def quota_cores(root: Path = _ROOT) -> float | None:
    """Return how many cores' time the quotas of this process's control groups allow it; None without a quota.

    A quota of 150 ms in each 100 ms is 1.5 cores. Both versions of control groups are read.

    Args:
        root: where /proc and /sys lie.
    """
    return min((quota for group in _groups(root) if (quota := _quota_cores(group)) is not None), default=None)


def _usable_cores() -> int | None:
    with suppress(OSError):  # where a sandbox forbids to ask
        return len(os.sched_getaffinity(0))
    return None


def _groups(root: Path) -> Iterator[Path]:
    """Yield the directories of this process's groups that limit its time on cores, and of those that these are in."""
    mounted = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, place = (*line.split(":", 2), "", "")[:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        # In version 1 each controller has a directory; beside it version 2 is in `unified`.
        names = (controllers, "cpu") if controllers else ("", "unified")
        top = next((mounted / name for name in names if (mounted / name / "cgroup.procs").exists()), None)
        if top is None:
            continue
        inner = top / place.lstrip("/")
        # In a container its own group may lie at the top, though it is said to be elsewhere.
        group = inner if inner.is_dir() else top
        while group != top:
            yield group
            group = group.parent
        yield top


def _quota_cores(group: Path) -> float | None:
    words = _text(group / "cpu.max").split() or [
        *_text(group / "cpu.cfs_quota_us").split(), *_text(group / "cpu.cfs_period_us").split()
    ]  # fmt: skip
    with suppress(ValueError, ZeroDivisionError):  # "max", or what no kernel writes
        allowed, period = map(int, words)
        return allowed / period if allowed > 0 else None
    return None


def _throttled_ns(group: Path) -> int | None:
    for line in _text(group / "cpu.stat").splitlines():
        name, _, value = line.partition(" ")
        if name in ("throttled_usec", "throttled_time") and value.isdecimal():
            return int(value) * (1000 if name == "throttled_usec" else 1)
    return None


def _text(path: Path) -> str:
    """Return what is in a file of the system's; nothing where it has none, as in a sandbox."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _first_value(path: str, key: str) -> str | None:
    lines = _text(Path(path)).splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), None)
