"""This file declares what C++ finds of devices that processes have in common, in times of the clock that they share."""

from typing import NamedTuple

from rlscope.analysis.swept_types import CategoryLabel, Count, DeviceSet, Label, Place, SharedTime


class SweptShare(NamedTuple):
    """This is how long a device worked for one of several processes: alone, and at once with others."""

    alone: SharedTime
    shared: SharedTime


class SweptSwitches(NamedTuple):
    """This says how often a device passed from one process to another, by places, and did nothing between them."""

    before: Place
    after: Place
    times: Count
    time: SharedTime
    longest: SharedTime


class SweptSharing(NamedTuple):
    """This says who had a device.

    Attributes:
        shared: The time in which it worked for two or more processes at once.
        processes: Each process's time, by its place. What they had alone, and `shared`, sum to the busy time.
        switches: How it passed from one to another, by their places.
    """

    shared: SharedTime
    processes: list[SweptShare]
    switches: list[SweptSwitches]


class SweptIdle(NamedTuple):
    """This is time in which a device worked for nobody, by what a process did meanwhile.

    Attributes:
        stage: The stage of its owner.
        operation: The operation.
        category: The layer.
        is_evaluation: Whether this was in the phase `evaluation`.
        wait: In category `wait`, the name of the boundary, and behind a space its channel, if it has one.
        is_in_tail: Whether this was in a tail of the process's samples.
        time: How long; of a `SweptProcessIdle`, in ticks of the process's clock.
    """

    stage: Label
    operation: Label
    category: CategoryLabel
    is_evaluation: bool
    wait: Label
    is_in_tail: bool
    time: SharedTime


class SweptProcessIdle(NamedTuple):
    """This is such time of a process's devices but those that work meanwhile.

    Attributes:
        working: Which do: the binary digits of their CUDA numbers, modulo 64; 0 if none does.
        idle: What the process did, and how long.
    """

    working: DeviceSet
    idle: SweptIdle


class SweptPlaceIdle(NamedTuple):
    """This is such time of one of several devices.

    Attributes:
        place: That of the device.
        user: The place of the process that speaks for it; None if none spoke, and then `idle` says nothing else.
        idle: What it did, and how long.
    """

    place: Place
    user: Place | None
    idle: SweptIdle
