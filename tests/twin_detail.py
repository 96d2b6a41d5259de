"""The slow, obvious twin of the sweep's detail: functions, bins, iterations, instances of operations, and windows."""

from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import pairwise

from trace_builder import Begin, End, ProcessScript, Progress
from twin_sweep import BLOCKED, Record, Stack, Twin, boundaries_of, is_outside, operations_of, resource_of, stage_of

from rlscope.model import Category, NameKind

Series = tuple[str, str, str, str]  # stage, operation, category, resource
Function = tuple[str, str, str, str, str]  # and the name; "" is Python outside any boundary


def without_stream(frame: Begin) -> str:
    return frame.name.split(" ")[0] if frame.category is Category.WAIT else frame.name


class DetailTwin(Twin):
    """`borders` are the ends of bins; time behind the last one is in no bin."""

    def __init__(self, script: ProcessScript, borders: list[int]) -> None:
        self.borders = borders
        self.functions: Counter[Function] = Counter()  # ticks
        self.calls: Counter[Function] = Counter()
        self.bins: Counter[tuple[int, Series]] = Counter()
        self.iterations: list[tuple[int, int]] = []
        self.of_iterations: Counter[tuple[int, Function]] = Counter()
        self.instances: dict[tuple[str, str], list[tuple[int, int]]] = {}  # (start, end)
        self.starts: dict[int, int] = {}  # of open operations, by the frame's identity
        self.phase_starts: list[tuple[int, str]] = []
        self.now = script.start
        super().__init__(script)

    def function(self, stream: int, category: Category) -> str:
        boundaries = boundaries_of(self.stacks[stream])
        if category is Category.WAIT and stream in self.gaps:
            return self.wait_name(stream).split(" ")[0] if boundaries else "(blocked)"
        return without_stream(boundaries[-1]) if boundaries else ""

    def account_for_threads(self, start: int, end: int) -> None:
        super().account_for_threads(start, end)
        running = self.running(start, end)
        given: Counter[tuple[int, Category]] = Counter()
        # A bin has what a share has up to the bin's end, less what it has up to the bin's start.
        inside = self.borders[bisect_right(self.borders, start) : bisect_left(self.borders, end)]
        for from_ticks, to_ticks in pairwise(sorted({start, end, *inside})):
            number = bisect_right(self.borders, from_ticks)
            for stream, category, ticks in self.owned(start, to_ticks):
                scope = self.scope(stream)
                if running and category in BLOCKED and not self.coincident:
                    scope = running[0][1].stage, running[0][1].operation
                series = *scope, category.label, resource_of(category, running)
                function = *series, self.function(stream, category)
                part = ticks - given[stream, category]
                given[stream, category] = ticks
                self.functions[function] += part
                if number < len(self.borders):
                    self.bins[number, series] += part
                if self.progress:
                    self.of_iterations[len(self.iterations), function] += part

    def account(self, start: int, end: int) -> None:
        super().account(start, end)
        self.now = end

    def apply(self, stream: int, statement: Record, now: int) -> None:
        if isinstance(statement, Progress) and self.progress:
            if statement.is_baseline:  # what came before it was of no training
                for key in [key for key in self.of_iterations if key[0] == len(self.iterations)]:
                    del self.of_iterations[key]
            else:
                self.iterations.append((self.progress[-1][0], now))
        if isinstance(statement, End):
            self.end_operation(self.stacks[stream], now)
        before = list(self.open_phases)
        super().apply(stream, statement, now)
        if self.open_phases != before:
            self.phase_starts = [each for each in self.phase_starts if each[0] != now] + [(now, self.phase())]
        stack = self.stacks.get(stream, [])
        if isinstance(statement, Begin) and stack[-1].kind is NameKind.OPERATION:
            self.starts[id(stack[-1])] = now

    def end_operation(self, stack: Stack, now: int) -> None:
        if stack[-1].kind is not NameKind.OPERATION:
            return
        operations = operations_of(stack)
        started = self.starts.pop(id(stack[-1]))
        if not is_outside(operations):
            self.instances.setdefault((stage_of(operations), operations[-1]), []).append((started, now))

    def enter(self, stream: int, stack: Stack, frame: Begin, now: int) -> None:
        resource = resource_of(frame.category, self.running(self.now, self.now + 1))
        self.calls[(*self.scope(stream), frame.category.label, resource, without_stream(frame))] += 1
        super().enter(stream, stack, frame, now)


def sample_spans(twin: DetailTwin) -> list[tuple[str, int, int, int, int, int, int, bool]]:
    """The samples of a trace, each with its begin, end, ticks in queue, version, staleness and tokens."""
    spans, newest = [], 0
    for _, now, elapsed, sample in twin.samples:
        newest = max(newest, sample.version)
        queued = sample.times[0] - sample.times[1] if sample.times else 0
        about = sample.version, newest - sample.version, sample.tokens, sample.discarded
        spans.append((sample.name, now - min(now, elapsed), now, queued, *about))
    return spans


def events_of(script: ProcessScript, start: int, end: int) -> dict[int, list[tuple[int, int, str, str, int]]]:
    """The events of each thread between two times, clipped to them: start, end, kind, name, depth."""
    found = {}
    for thread in script.threads:
        events: list[tuple[int, int, str, str, int]] = []
        open_events: list[Begin] = []
        for statement in [*thread.statements, *[End(end)] * len(thread.statements)]:
            if isinstance(statement, Begin):
                open_events.append(statement)
            elif isinstance(statement, End) and open_events:
                begin = open_events.pop()
                kind = begin.category.label if begin.kind is NameKind.BOUNDARY else begin.kind.name.lower()
                if begin.ticks < end and statement.ticks > start:
                    span = max(begin.ticks, start), min(statement.ticks, end)
                    events.append((*span, kind, begin.name, len(open_events)))
        if events:
            found[thread.stream] = sorted(events)
    return found
