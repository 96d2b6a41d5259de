"""This file checks that so many environments fit, before anything is allocated."""

from pathlib import Path

#: Of the memory that is free now; the rest is left to allocators, which round up.
USABLE = 0.9
#: Of one environment and step of a trajectory: state, action and two flags, each on the device, gathered there, and
#: twice on the host.
TRAJECTORY_BYTES = 4 * (16 + 4 + 1 + 1)


def check_counts(environments: int, steps_per_call: int) -> None:
    """Refuse counts below one.

    Raises:
        ValueError: in one line.
    """
    for name, count in (("environments", environments), ("steps per call", steps_per_call)):
        if count < 1:
            raise ValueError(f"expected at least 1 for the number of {name}, found {count}; give a positive number")


def check_memory(name: str, environments: int, bytes_each: int, free_bytes: int, place: str) -> None:
    """Refuse environments that do not fit into memory.

    Args:
        name: of what is to hold them.
        environments: how many are wanted.
        bytes_each: what one takes at most.
        free_bytes: what is free now.
        place: where: "cpu" or "cuda".

    Raises:
        MemoryError: in one line, with the largest number that fits.
    """
    most = int(USABLE * free_bytes) // bytes_each
    if environments > most:
        raise MemoryError(
            f"expected at most {most} environments, found {environments}: {name} takes {bytes_each} bytes for each, "
            f"and {free_bytes / 1e9:.1f} GB are free on {place}; make fewer"
        )


def check_trajectory(name: str, environments: int, steps: int, free_bytes: int, place: str) -> None:
    """Refuse a trajectory whose steps do not all fit, on the device and on the host.

    Raises:
        MemoryError: in one line, with the largest number of environments for so many steps.
    """
    for free, where in ((free_bytes, place), (free_host_bytes(), "cpu")):
        check_memory(f"a trajectory of {steps} steps ({name})", environments, steps * TRAJECTORY_BYTES, free, where)


def free_host_bytes() -> int:
    """Return what this process can still have: of the machine, or of its control group where that has a limit."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    free = next(int(words[1]) * 1024 for words in lines if words[0] == "MemAvailable:")
    group = Path("/sys/fs/cgroup")
    limit = group / "memory.max"
    if limit.is_file() and (most := limit.read_text().strip()) != "max":
        used = int((group / "memory.current").read_text())
        return min(free, max(int(most) - used, 0))
    return free
