"""The slow, obvious twin of the C++ sweep: works from the list of events, and asks at each instant who owns it.

Each rule of docs/analysis.md is one function here, written from the stacks of open frames and nothing else.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

from trace_builder import Begin, End, ProcessScript, Progress

from rlscope.model import NO_OPERATION, NO_PHASE, STAGES, TRAINING_LOOP, Category, NameKind

Stack = list[Begin]
MAIN = 0


def category_of(stack: Stack) -> Category:
    boundaries = [frame for frame in stack if frame.kind is NameKind.BOUNDARY]
    return boundaries[-1].category if boundaries else Category.PYTHON


def has_boundary(stack: Stack) -> bool:
    return any(frame.kind is NameKind.BOUNDARY for frame in stack)


def operations_of(stack: Stack) -> list[str]:
    return [frame.name for frame in stack if frame.kind is NameKind.OPERATION]


def stage_of(operations: list[str]) -> str:
    named = [name for name in operations if name in STAGES]
    if named:
        return named[-1]
    return TRAINING_LOOP if TRAINING_LOOP in operations else NO_OPERATION


def takes_part(stream: int, stack: Stack) -> bool:
    return stream == MAIN or has_boundary(stack) or bool(operations_of(stack))


class Twin:
    def __init__(self, script: ProcessScript) -> None:
        self.stacks: dict[int, Stack] = {MAIN: []}
        self.open_phases: list[Begin] = []  # in the order in which they began
        self.runs_python = {MAIN}
        self.breakdown: Counter[tuple[str, ...]] = Counter()
        self.threads: Counter[tuple[Any, ...]] = Counter()
        self.transitions: Counter[tuple[str, ...]] = Counter()
        self.events: Counter[str] = Counter()
        self.crossings: Counter[str] = Counter()
        self.progress: list[tuple[int, Progress]] = []
        self.start = script.start
        records = self._records(script)
        last = max([script.start, *(thread.start for thread in script.threads), *(record[0] for record in records)])
        if script.stop is not None:
            self.end = script.stop
        else:
            self.end = max(script.limit, script.start) if script.limit else last
        now = self.start
        for ticks, stream, _, statement in records:
            until = min(max(ticks, now), self.end)
            self.account(until - now)
            now = until
            self.apply(stream, statement, now)
        self.account(self.end - now)

    @staticmethod
    def _records(script: ProcessScript) -> list[tuple[int, int, int, Begin | End | Progress]]:
        """All threads' records in order of time; at the same tick the lower stream comes first."""
        records = [
            (statement.ticks, thread.stream, index, statement)
            for thread in script.threads
            for index, statement in enumerate(thread.statements)
            if isinstance(statement, Begin | End | Progress)
        ]
        return sorted(records, key=lambda record: record[:3])

    def operations(self, stream: int) -> list[str]:
        """Rule 2: a thread with no operation of its own has the main thread's."""
        return operations_of(self.stacks[stream]) or operations_of(self.stacks[MAIN])

    def scope(self, stream: int) -> tuple[str, str]:
        operations = self.operations(stream)
        return stage_of(operations), operations[-1] if operations else NO_OPERATION

    def owner(self) -> int:
        """Rule 3, clauses (a) to (d)."""
        order = [Category.PYTHON, Category.SIMULATOR, Category.CUDA, Category.BACKEND, Category.WAIT]

        def key(stream: int) -> tuple[bool, bool, int, int]:
            category = category_of(self.stacks[stream])
            return category is Category.WAIT, not self.operations(stream), order.index(category), stream

        return min((stream for stream, stack in self.stacks.items() if takes_part(stream, stack)), key=key)

    def row(self, stream: int) -> tuple[str, ...]:
        phase = self.open_phases[-1].name if self.open_phases else NO_PHASE
        category = category_of(self.stacks[stream])
        resource = "idle" if category is Category.WAIT else "cpu"
        return phase, *self.scope(stream), category.label, resource

    def account(self, ticks: int) -> None:
        if ticks == 0:
            return
        self.breakdown[self.row(self.owner())] += ticks
        for stream, stack in self.stacks.items():
            if takes_part(stream, stack):
                self.threads[(stream, *self.row(stream))] += ticks

    def apply(self, stream: int, statement: Begin | End | Progress, now: int) -> None:
        stack = self.stacks.setdefault(stream, [])
        match statement:
            case Progress():
                self.progress.append((now, statement))
            case End():
                frame = stack.pop()
                self.open_phases = [other for other in self.open_phases if other is not frame]
            case Begin(kind=NameKind.BOUNDARY):
                self.enter(stream, stack, statement)
            case Begin():
                self.events["operation" if statement.kind is NameKind.OPERATION else "phase"] += 1
                if not has_boundary(stack):
                    self.runs_python.add(stream)
                frame = replace(statement)  # an object of its own, so that `is` tells equal frames apart
                stack.append(frame)
                if frame.kind is NameKind.PHASE:
                    self.open_phases.append(frame)

    def enter(self, stream: int, stack: Stack, frame: Begin) -> None:
        """A boundary entry; counts as a transition if the category changes."""
        self.events[frame.category.label] += 1
        self.crossings[frame.name] += 1
        before = category_of(stack)
        if stream not in self.runs_python and not has_boundary(stack):
            if frame.category in (Category.PYTHON, Category.CUDA):
                before = category_of(self.stacks[self.owner()])
            else:
                self.runs_python.add(stream)
        if before is not frame.category:
            self.transitions[(*self.scope(stream), before.label, frame.category.label)] += 1
        stack.append(frame)


def sweep_twin(script: ProcessScript) -> dict[str, Any]:
    """What `rlscope._analysis.sweep` should find, in the same form but with tables as dicts from key to value."""
    twin = Twin(script)
    kinds = ["operation", "phase", *(category.label for category in Category)]
    return {
        "start_ticks": twin.start,
        "end_ticks": twin.end,
        "breakdown": dict(twin.breakdown),
        "threads": dict(twin.threads),
        "transitions": dict(twin.transitions),
        "events": {kind: twin.events[kind] for kind in kinds},
        "crossings": dict(twin.crossings),
        "progress": progress_summary(twin.progress),
    }


def progress_summary(records: list[tuple[int, Progress]]) -> dict[str, int | None] | None:
    if not records:
        return None
    baselines = [record.timesteps for _, record in records if record.is_baseline]
    totals = [record.total_timesteps for _, record in records if record.total_timesteps]
    return {
        "iterations": sum(not record.is_baseline for _, record in records),
        "first_ticks": records[0][0],
        "first_timesteps": records[0][1].timesteps,
        "last_ticks": records[-1][0],
        "last_timesteps": records[-1][1].timesteps,
        "total_timesteps": totals[-1] if totals else 0,
        "baseline_timesteps": baselines[0] if baselines else None,
    }


def as_dicts(found: dict[str, Any]) -> dict[str, Any]:
    """What the C++ sweep found, in the form of `sweep_twin`."""
    tables = {
        name: {row[:-1]: row[-1] for row in found.get(name, [])} for name in ("breakdown", "threads", "transitions")
    }
    plain = ("start_ticks", "end_ticks", "events", "crossings", "progress")
    return {name: found[name] for name in plain} | tables
