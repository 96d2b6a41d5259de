"""The slices of a script, found slowly, and those that a walk over its file gives, as the same rows."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from trace_builder import Begin, Collective, End, ProcessScript, Task, Work
from twin_sweep import stage_of

from rlscope._analysis import slice_batches
from rlscope.analysis.detail.slices import SLICE_KINDS, SLICE_STAGES
from rlscope.analysis.detail.swept import SliceBatch, SliceTracks
from rlscope.model import NO_OPERATION, NameKind
from rlscope.trace import format as fmt


class SliceRow(NamedTuple):
    track: str
    stream: int
    start: int
    end: int
    kind: str
    name: str
    operation: str
    stage: str
    depth: int


def expected_slices(script: ProcessScript, start: int, end: int) -> Counter[SliceRow]:
    found: Counter[SliceRow] = Counter()
    for thread in script.threads:
        open_events: list[Begin] = []
        closing = [End(end)] * len(thread.statements)
        for statement in [*thread.statements, *closing]:
            if isinstance(statement, Begin):
                open_events.append(statement)
            elif isinstance(statement, End) and open_events:
                begin = open_events[-1]
                operations = [each.name for each in open_events if each.kind is NameKind.OPERATION]
                scope = (operations[-1], stage_of(operations)) if operations else ("", NO_OPERATION)
                kind = begin.category.label if begin.kind is NameKind.BOUNDARY else begin.kind.name.lower()
                open_events.pop()
                if begin.ticks < end and statement.ticks > start:
                    span = max(begin.ticks, start), min(statement.ticks, end)
                    found[SliceRow("thread", thread.stream, *span, kind, begin.name, *scope, len(open_events))] += 1
            elif isinstance(statement, Task | Collective) and start <= statement.ticks <= end:
                found.update(_of_lanes(thread.stream, statement, start))
    for queue in script.queues:
        for work in queue.statements:
            if isinstance(work, Work) and queue.device != fmt.HOST and overlaps(work.start, work.end, start, end):
                span, operation = (max(work.start, start), min(work.end, end)), work.operation
                scope = ("" if operation == NO_OPERATION else operation, work.stage)
                found[SliceRow("queue", queue.stream, *span, work.kind.name.lower(), work.name, *scope, 0)] += 1
    return found


def overlaps(from_ticks: int, to_ticks: int, start: int, end: int) -> bool:
    """Whether something takes time between two others, or takes none and lies there."""
    clipped = max(from_ticks, start), min(to_ticks, end)
    return clipped[0] < clipped[1] or from_ticks == to_ticks == clipped[0] == clipped[1]


def _of_lanes(stream: int, statement: Task | Collective, start: int) -> list[SliceRow]:
    name, end = statement.name if isinstance(statement, Collective) else statement.operation, statement.ticks
    if isinstance(statement, Task):
        track, began, scope = "tasks", max(end - statement.elapsed, 0), (name, stage_of([name]))
    else:
        track, began, scope = "collectives", statement.called_at, ("", NO_OPERATION)
        end = end if statement.waited_since is not None else began
    kind = {"tasks": "task", "collectives": "collective"}[track]
    row = SliceRow(track, stream, max(began, start), end, kind, name, *scope, 0)
    return [row] if overlaps(began, end, start, statement.ticks) else []


class Walked:
    """What a walk gave.

    Attributes:
        rows: Its slices.
        lanes: The rows of each track.
        found: Its tracks.
    """

    def __init__(self, path: Path, start: int, end: int, most_slices: int = 1 << 18) -> None:
        self.names: dict[int, str] = {0: ""}
        self.batches: list[SliceBatch] = []
        window = start, end, (0, 0, 1, 1), 0
        self.found: SliceTracks = slice_batches(path, window, {}, most_slices, self.batches.append)
        for batch in self.batches:
            assert not self.names.keys() & batch.new_names.keys()
            self.names |= batch.new_names
        self.lanes: dict[int, list[SliceRow]] = {}
        for batch in self.batches:
            self._add(batch)
        self.rows = Counter(row for rows in self.lanes.values() for row in rows)

    def _add(self, batch: SliceBatch) -> None:
        kinds = ("<u4", "<u8", "<u8", "u1", "<u4", "<u4", "u1", "<u4", "<u8")
        columns = (np.frombuffer(data, kind).tolist() for data, kind in zip(batch[:9], kinds, strict=True))
        for track, start, end, kind, name, operation, stage, depth, _ in zip(*columns, strict=True):
            place = self.found.tracks[track]
            row = SliceRow(
                place.kind, place.stream, start, end, SLICE_KINDS[kind], self.names[name], self.names[operation],
                SLICE_STAGES[stage], depth,
            )  # fmt: skip
            self.lanes.setdefault(track, []).append(row)
