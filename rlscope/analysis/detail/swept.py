"""The detail of a sweep and the events of a window, by name.

The extension module makes these classes (src/analysis_module/swept_detail.cpp), each with its fields in the order given
here. Ticks are those of the process's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class SweptFunction(NamedTuple):
    """A function that an operation called in a layer; the name is empty for Python outside any boundary.

    Attributes:
        stage: The stage of the operation.
        operation: Its name.
        category: The layer.
        resource: What worked meanwhile.
        function: The name.
        calls: How many calls began, on any thread.
        ticks: The process's time in it.
    """

    stage: str
    operation: str
    category: str
    resource: str
    function: str
    calls: int
    ticks: int


class SweptSeries(NamedTuple):
    """A series tells the entries of bins apart."""

    stage: str
    operation: str
    category: str
    resource: str


class SweptLength(NamedTuple):
    """So many instances took so many ticks, rounded down by at most a sixteenth of an octave."""

    ticks: int
    instances: int


class SweptInstance(NamedTuple):
    """One of the slowest instances of an operation."""

    start_ticks: int
    ticks: int


class SweptInstances(NamedTuple):
    """The instances of an operation on any thread: how many ended, how long they took, and the slowest five."""

    stage: str
    operation: str
    ended: int
    ticks: int
    lengths: list[SweptLength]
    slowest: list[SweptInstance]


class SweptSampleSpan(NamedTuple):
    """One sample.

    Attributes:
        name: What it was reported as.
        start_ticks: When it was begun; the same as `end_ticks` where that is not known.
        end_ticks: When it was complete.
        queue_ticks: For how long its task was in no operation that encloses no other.
        version: The version of the policy that made it.
        staleness: How far the newest version that any report had named was ahead of that.
        tokens: Its tokens.
        is_discarded: Whether it was discarded.
    """

    name: str
    start_ticks: int
    end_ticks: int
    queue_ticks: int
    version: int
    staleness: int
    tokens: int
    is_discarded: bool


class SweptFrame(NamedTuple):
    """A function in the tree that the stacks of a stage are, whatever its line; a place in the list is what names it.

    Attributes:
        stage: The stage.
        caller: The place of the function that called it, which is before its own; None of an outermost one.
        function: The function.
        file: Where it is.
        ticks: The process's ticks in Python in which it was the innermost one.
    """

    stage: str
    caller: int | None
    function: str
    file: str
    ticks: int


@dataclass(frozen=True, kw_only=True)
class SweptDetail:
    """The detail of a sweep. Columns are little-endian integers of 4 bytes, those of ticks and times of 8.

    Attributes:
        borders: The ends of the bins, as the sweep was given them.
        functions: The time by function; it sums to the process's.
        series: What `bin_series` counts.
        bins: The bin of each entry, in ascending order; behind the last border lies a bin more.
        bin_series: The place of its series.
        bin_ticks: Its ticks.
        iteration_starts: When each iteration began: at a report of progress.
        iteration_ends: When it ended: at the next one.
        iterations: Of those iterations that are kept, the iteration of each entry, in ascending order.
        iteration_functions: The place of its function.
        iteration_ticks: Its ticks.
        instances: The instances of each operation.
        phase_starts: When the process came into another phase; before the first time it was in none.
        phases: The place of each one's name.
        phase_names: What `phases` counts.
        samples: Those that were reported, in order of their begins; of more than 8192 those that took longest.
        frames: The functions of the stacks that were seen; their ticks sum to those of lines.
    """

    borders: bytes
    functions: list[SweptFunction]
    series: list[SweptSeries]
    bins: bytes
    bin_series: bytes
    bin_ticks: bytes
    iteration_starts: bytes
    iteration_ends: bytes
    iterations: bytes
    iteration_functions: bytes
    iteration_ticks: bytes
    instances: list[SweptInstances]
    phase_starts: bytes
    phases: bytes
    phase_names: list[str]
    samples: list[SweptSampleSpan]
    frames: list[SweptFrame]


class EventName(NamedTuple):
    """An event is of a kind: a category, `operation` or `phase`; and its name."""

    kind: str
    name: str


class ThreadEvents(NamedTuple):
    """The events of a thread in a window, by start, and of those with one start the outer one first.

    Attributes:
        thread: Its number in the process.
        starts: In ticks, of 8 bytes each; events are clipped to the window.
        ends: The same.
        names: The key in `EventWindow.names`, of 4 bytes each.
        depths: How many events of the thread enclose it, of 4 bytes each.
    """

    thread: int
    starts: bytes
    ends: bytes
    names: bytes
    depths: bytes


class EventWindow(NamedTuple):
    """The events between two times; `end_ticks` is earlier than asked for if there are too many."""

    end_ticks: int
    names: dict[int, EventName]
    threads: list[ThreadEvents]
