"""This file joins windows of a run that follow each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rlscope.analysis.ranks.swept import NO_COLLECTIVES
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.swept import Swept, SweptTraining


def joined_windows(parts: Sequence[TraceSweep]) -> TraceSweep:
    """Return windows that follow each other as one, with the processes of the last.

    Of 2 s of Python and 1 s of Python there are 3 s. What `joined_processes` does not sum is empty.
    """
    found: dict[Path, list[Swept]] = {}
    for part in parts:
        for process in part.processes:
            found.setdefault(process.file.path, []).append(process.found)
    last = parts[-1]
    return replace(
        last,
        processes=tuple(
            replace(process, found=joined_processes(found[process.file.path])) for process in last.processes
        ),
    )


def joined_processes(parts: Sequence[Swept]) -> Swept:
    """Return windows of a process that follow each other as one: times, waits, counts of events, devices, progress.

    Each field but lists is given, so that what a window has of a new one must be said here.
    """
    last = parts[-1]
    joined: dict[str, Any] = {field.name: [] for field in fields(Swept) if str(field.type).startswith("list[")}
    joined |= {
        "start_ticks": parts[0].start_ticks,
        "end_ticks": last.end_ticks,
        "last_record_ticks": last.last_record_ticks,
        # These are of all that was recorded so far.
        "dropped_records": last.dropped_records,
        "dropped_device_records": last.dropped_device_records,
        "misnested_operations": last.misnested_operations,
        "unresolved_launches": last.unresolved_launches,
        "why": last.why,
        "properties": last.properties,
        # These are added up.
        "breakdown": _summed((row for part in parts for row in part.breakdown), "ticks"),
        "waits": _summed((row for part in parts for row in part.waits), "entries"),
        "devices": _summed((row for part in parts for row in part.devices), "busy_ticks"),
        "events": _counts(part.events for part in parts),
        "trainings": joined_trainings(part.trainings for part in parts),
        # Nobody asks a window for these.
        "transitions_in_loop": 0,
        "crossings": {},
        "collectives": NO_COLLECTIVES,
        "torn_stacks": 0,
        "loop": None,
        "beside_ticks": 0,
        "threads_in_operations": 0,
        "cupti_work": {},
        "gaps": {},
        "correction": None,
        "detail": None,
        "chunk_change_ticks": 0,
    }
    return Swept(**joined)


def joined_trainings(parts: Iterable[Sequence[SweptTraining]]) -> list[SweptTraining]:
    """Return the trainings of windows that follow each other: one may go on from window to window."""
    found: list[SweptTraining] = []
    for training in (training for part in parts for training in part):
        if found and goes_on(found[-1], training):
            found[-1] = joined_training([found[-1], training])
        else:
            found.append(training)
    return found


def goes_on(before: SweptTraining, after: SweptTraining) -> bool:
    """Return whether what a window reports of a training is more of the one that an earlier window has."""
    return after.baseline_timesteps is None and after.first_timesteps >= before.last_timesteps


def joined_training(parts: Sequence[SweptTraining]) -> SweptTraining:
    """Return the reports of one training in windows that follow each other, at least one, as one."""
    first, last = parts[0], parts[-1]
    return SweptTraining(
        sum(part.iterations for part in parts),
        first.first_ticks,
        first.first_timesteps,
        last.last_ticks,
        last.last_timesteps,
        next((part.total_timesteps for part in reversed(parts) if part.total_timesteps), 0),
        first.baseline_timesteps,
        sum(part.evaluation_ticks for part in parts),
    )


RowT = TypeVar("RowT", bound=NamedTuple)


def _summed(rows: Iterable[RowT], first_number: str) -> list[RowT]:
    """Sum the numbers of rows, from the field of that name on; the fields before it are their key."""
    sums: dict[tuple[object, ...], tuple[type[RowT], list[int]]] = {}
    for row in rows:
        first = row._fields.index(first_number)
        numbers = row[first:]
        found = sums.setdefault(row[:first], (type(row), [0] * len(numbers)))[1]
        for place, number in enumerate(numbers):
            found[place] += number
    return [row_class._make((*key, *numbers)) for key, (row_class, numbers) in sums.items()]


def _counts(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for part in parts:
        for kind, count in part.items():
            counts[kind] = counts.get(kind, 0) + count
    return counts
