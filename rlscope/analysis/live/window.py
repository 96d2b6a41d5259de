"""This file says which part of a run is to be swept, and joins parts that follow each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rlscope.analysis.ranks.swept import NO_COLLECTIVES
from rlscope.analysis.swept import Swept, SweptProgress
from rlscope.trace.reader import ProcessFile

if TYPE_CHECKING:
    from rlscope.analysis.sweep import TraceSweep

#: What a device did is written each second, and the time of a thread that was blocked when it runs again.
BEHIND_NS = 1_500_000_000


@dataclass(frozen=True)
class Window:
    """A part of a run.

    Attributes:
        start_ns: Where it begins, in nanoseconds since 1970.
        end_ns: Where it ends for processes that still record, the same.
        swept_ticks: Up to where processes were swept before, by their file: they go on from there.
    """

    start_ns: int
    end_ns: int
    swept_ticks: Mapping[Path, int] = field(default_factory=dict)

    def since_ticks(self, file: ProcessFile) -> int:
        """Return where the window begins for a process."""
        return self.swept_ticks.get(file.path, _ticks(file, self.start_ns))

    def limit_ticks(self, file: ProcessFile) -> int:
        """Return where it ends for a process that did not end its recording itself."""
        end_ticks = _ticks(file, self.end_ns)
        return min(file.limit_ticks or end_ticks, end_ticks)


def _ticks(file: ProcessFile, time_ns: int) -> int:
    return max(file.clock.ticks_at(time_ns - file.clock.realtime_offset_ns), 1)  # 0 is not known


def joined_windows(parts: Sequence["TraceSweep"]) -> "TraceSweep":
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
    """Return windows of a process that follow each other as one: times, waits, counts of events, devices, progress."""
    return replace(
        parts[-1],
        start_ticks=parts[0].start_ticks,
        breakdown=_summed((row for part in parts for row in part.breakdown), 5),
        waits=_summed((row for part in parts for row in part.waits), 2),
        devices=_summed((row for part in parts for row in part.devices), 1),
        events=_counts(part.events for part in parts),
        crossings={},
        progress=joined_progress([part.progress for part in parts if part.progress is not None]),
        threads=[],
        transitions=[],
        evaluation_transitions=[],
        phases=[],
        tasks=[],
        samples=[],
        sample_tails=[],
        idle=[],
        collectives=NO_COLLECTIVES,
        lines=[],
        memory=[],
        memory_series=[],
        sync_points=[],
        call_sites=[],
        torn_stacks=0,
        outside=[],
        loop=None,
        cuda_calls=[],
        device_operations=[],
        device_work=[],
        correction=None,
        detail=None,
        streams=[],
    )


def joined_progress(parts: Sequence[SweptProgress]) -> SweptProgress | None:
    """Return the reports of windows that follow each other as one; None without any."""
    if not parts:
        return None
    first, last = parts[0], parts[-1]
    return SweptProgress(
        sum(part.iterations for part in parts),
        first.first_ticks,
        first.first_timesteps,
        last.last_ticks,
        last.last_timesteps,
        next((part.total_timesteps for part in reversed(parts) if part.total_timesteps), 0),
        next((part.baseline_timesteps for part in parts if part.baseline_timesteps is not None), None),
        sum(part.evaluation_ticks for part in parts),
    )


RowT = TypeVar("RowT", bound=NamedTuple)


def _summed(rows: Iterable[RowT], key_fields: int) -> list[RowT]:
    """Sum the numbers behind the first fields of rows, which are their key."""
    sums: dict[tuple[object, ...], tuple[type[RowT], list[int]]] = {}
    for row in rows:
        numbers = row[key_fields:]
        found = sums.setdefault(row[:key_fields], (type(row), [0] * len(numbers)))[1]
        for place, number in enumerate(numbers):
            found[place] += number
    return [row_class._make((*key, *numbers)) for key, (row_class, numbers) in sums.items()]


def _counts(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for part in parts:
        for kind, count in part.items():
            counts[kind] = counts.get(kind, 0) + count
    return counts
