"""This file divides a machine into slots, each with cores of its own, so that runs do not disturb each other."""

import os
from collections.abc import Sequence
from pathlib import Path

from experiments.harness.progress import StudyRun

CPUS = Path("/sys/devices/system/cpu")


def cores_of_machine() -> list[tuple[int, ...]]:
    """Return the cores that this process may use; hyper-threads of one core together, as they share what it has."""
    usable = os.sched_getaffinity(0)
    siblings = {core: tuple(sorted(usable & siblings_of(core))) for core in sorted(usable)}
    return list(dict.fromkeys(siblings.values()))


def siblings_of(core: int) -> set[int]:
    """Return the hyper-threads of a core; itself, where the machine does not tell."""
    try:
        text = (CPUS / f"cpu{core}" / "topology" / "thread_siblings_list").read_text()
    except OSError:
        return {core}
    return {core, *numbers(text)}


def numbers(text: str) -> set[int]:
    """Return what the kernel writes as "0-1,8-9"."""
    found = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def cores_needed(runs: Sequence[StudyRun]) -> int:
    """Return the number of cores of a slot in which any of the runs has room."""
    return max(run.cores for run in runs)


def make_slots(cores: Sequence[tuple[int, ...]], needed: int) -> list[tuple[int, ...]]:
    """Divide a machine.

    Args:
        cores: as from `cores_of_machine`.
        needed: how many of them a slot should have.

    Returns:
        The hyper-threads of each slot. A machine that is too small is one slot.
    """
    places = [cores[start : start + needed] for start in range(0, len(cores) - needed + 1, needed)] or [cores]
    return [tuple(sorted(thread for core in place for thread in core)) for place in places]


def cores_text(slot: Sequence[int]) -> str:
    """Return the cores of a slot for people, and for `taskset`."""
    return ",".join(map(str, slot))
