"""The detail of a sweep, the events of a window, and slices, as C++ finds them.

Times of slices are in nanoseconds from the start of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rlscope.analysis.swept_types import (
    CategoryLabel,
    Column8,
    Column32,
    Column64,
    Count,
    Label,
    Number,
    Place,
    ResourceLabel,
    Text,
    Ticks,
    TrackLabel,
    Version,
)


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

    stage: Label
    operation: Label
    category: CategoryLabel
    resource: ResourceLabel
    function: Label
    calls: Count
    ticks: Ticks


class SweptSeries(NamedTuple):
    """A series tells the entries of bins apart."""

    stage: Label
    operation: Label
    category: CategoryLabel
    resource: ResourceLabel


class SweptLength(NamedTuple):
    """So many instances took so many ticks, rounded down by at most a sixteenth of an octave."""

    ticks: Ticks
    instances: Count


class SweptInstance(NamedTuple):
    """One of the slowest instances of an operation."""

    start_ticks: Ticks
    ticks: Ticks


class SweptInstances(NamedTuple):
    """The instances of an operation on any thread: how many ended, how long they took, and the slowest five."""

    stage: Label
    operation: Label
    ended: Count
    ticks: Ticks
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

    name: Label
    start_ticks: Ticks
    end_ticks: Ticks
    queue_ticks: Ticks
    version: Version
    staleness: Count
    tokens: Count
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

    stage: Label
    caller: Place | None
    function: Label
    file: Label
    ticks: Ticks


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

    kind: Label
    name: Label


class ThreadEvents(NamedTuple):
    """The events of a thread in a window, by start, and of those with one start the outer one first.

    Attributes:
        thread: Its number in the process.
        starts: In ticks, of 8 bytes each; events are clipped to the window.
        ends: The same.
        names: The key in `EventWindow.names`, of 4 bytes each.
        depths: How many events of the thread enclose it, of 4 bytes each.
    """

    thread: Number
    starts: Column64
    ends: Column64
    names: Column32
    depths: Column32


class EventWindow(NamedTuple):
    """The events between two times; `end_ticks` is earlier than asked for if there are too many."""

    end_ticks: Ticks
    names: dict[Number, EventName]
    threads: list[ThreadEvents]


class SliceTrack(NamedTuple):
    """A track of slices that nest.

    Attributes:
        kind: `thread`, `queue` of device work, or `tasks` or `collectives` of a thread.
        stream: The number of the thread or queue in the process.
        lane: Work of a queue, tasks and collectives may overlap: then they lie in several lanes.
        device: Of a queue, CUDA's number of the device in the process.
        cuda_stream: Of a queue.
        slices: How many it has.
    """

    kind: TrackLabel
    stream: Number
    lane: Number
    device: Number
    cuda_stream: Number
    slices: Count


class SliceTracks(NamedTuple):
    """A walk over slices finds tracks, and when the process reported how many timesteps, of 8 bytes each."""

    tracks: list[SliceTrack]
    progress_ns: Column64
    timesteps: Column64


class SliceBatch(NamedTuple):
    """Columns of little-endian integers, one entry per slice, in the order in which slices end on each track.

    Attributes:
        tracks: The place of the track, of 4 bytes each. Tracks come in the order of their places.
        starts: Of 8 bytes.
        ends: The same.
        kinds: Places in `rlscope.analysis.detail.slices.SLICE_KINDS`, of 1 byte.
        names: Keys of names, of 4 bytes.
        operations: Those of the innermost operation, of device work that of what launched it; 0 is none.
        stages: Places in `SLICE_STAGES` there, of 1 byte.
        depths: How many slices of the track enclose it, of 4 bytes.
        flows: The same number for all ranks in a call of a communicator, of 8 bytes; 0 is none.
        new_names: Names by key that no earlier batch had.
        new_tracks: Tracks that no earlier batch had; how many slices they have is not known yet.
    """

    tracks: Column32
    starts: Column64
    ends: Column64
    kinds: Column8
    names: Column32
    operations: Column32
    stages: Column8
    depths: Column32
    flows: Column64
    new_names: dict[Number, Text]
    new_tracks: list[SliceTrack]
