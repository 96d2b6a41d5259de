"""This file times a loop of steps in whole calls."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

#: How many times more calls a further attempt to fill a repetition makes at most: the first calls may be slow ones.
GROWTH = 10


@dataclass(frozen=True)
class Loop:
    """K steps in N environments.

    Attributes:
        call: makes them, and may return before the device is done.
        synchronize: until the device is done.
    """

    call: Callable[[], object]
    synchronize: Callable[[], None]


@dataclass(frozen=True)
class Effort:
    """This says how long to measure.

    Attributes:
        seconds: that a repetition lasts at least.
        repetitions: at most; fewer where the time does not allow them, but at least one.
        most_seconds: for all repetitions.
    """

    seconds: float
    repetitions: int
    most_seconds: float


def warm_up(loop: Loop) -> None:
    """Make calls in which functions are compiled and libraries allocate; the second one is given what the first one
    made.
    """
    for _ in range(2):
        loop.call()
        loop.synchronize()


def seconds_of(loop: Loop, calls: int) -> float:
    """Return the seconds of so many calls, until the device is done with all of them."""
    start_ns = time.perf_counter_ns()
    for _ in range(calls):
        loop.call()
    loop.synchronize()
    return (time.perf_counter_ns() - start_ns) / 1e9


def repetitions_of(loop: Loop, effort: Effort) -> tuple[int, list[float]]:
    """Return repetitions of as many calls as fill the time.

    The number is found first and is then the same for all: a GPU that is given calls until the time is over would still
    work on them long after.

    Args:
        loop: is warm.
        effort: how long to measure.

    Returns:
        Calls in a repetition, and the seconds of each repetition.
    """
    begin_ns = time.perf_counter_ns()
    calls, seconds = 1, seconds_of(loop, 1)
    while seconds < effort.seconds:
        wanted = math.ceil(1.05 * calls * effort.seconds / seconds)
        calls = min(max(wanted, calls + 1), GROWTH * calls)
        seconds = seconds_of(loop, calls)
    repetitions = [seconds]
    while len(repetitions) < effort.repetitions:
        used = (time.perf_counter_ns() - begin_ns) / 1e9
        if used + seconds > effort.most_seconds:
            break
        repetitions.append(seconds_of(loop, calls))
    return calls, repetitions
