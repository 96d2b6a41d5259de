"""Random traces: the C++ sweep equals its slow twin, and corrected times and their intervals hold the truth."""

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from trace_builder import (
    Begin,
    Blocked,
    End,
    NewChunk,
    ProcessScript,
    Progress,
    QueueScript,
    Task,
    ThreadScript,
    Work,
    boundary,
    certain_cost,
    operation,
    phase,
    sweep_script,
    write_script,
)
from twin_sweep import Twin, as_dicts, sweep_twin

from rlscope.analysis.correction import PARTS_PER_TICK, Bounds, Cost
from rlscope.model import Category, DeviceWork, NameKind
from rlscope.trace import format as fmt

OPERATIONS = ("training_loop", "simulation", "inference", "backpropagation", "step", "(none)")
CHOICES = (*("boundary",) * 3, *("end",) * 3, "operation", "phase", "chunk", "progress", "blocked", "task")
PHASES = ("collect", "evaluation")
CALLS = {category: [f + category.label for f in "fg"] for category in Category}
CALLS[Category.WAIT] = ["fwait", "gwait pipe:[1]", "gwait pipe:[2]", "_thread.lock.acquire"]
LAUNCHES = (("(none)", "(none)"), ("inference", "inference"), ("inference", "step"), ("training_loop", "step"))
ON_DEVICE = (DeviceWork.KERNEL, DeviceWork.COPY, DeviceWork.MEMSET)
COST_KEYS = ("operation", "operation/step", "boundary", "boundary/fbackend", "cuda", "cuda/fcuda")
ON_HOST = (DeviceWork.OVERHEAD, DeviceWork.GAP)


@st.composite
def threads(draw: st.DrawFn, stream: int, start: int) -> ThreadScript:
    thread = ThreadScript(stream, start + draw(st.integers(0, 30)))
    ticks, depth = thread.start, 0
    for _ in range(draw(st.integers(0, 25))):
        before = ticks
        ticks += draw(st.sampled_from((0, 1, 2, 7, 40, 5000)))
        choice = draw(st.sampled_from(CHOICES))
        if choice == "boundary":
            category = draw(st.sampled_from(Category))
            thread.statements.append(boundary(ticks, category, draw(st.sampled_from(CALLS[category]))))
        elif choice == "operation":
            thread.statements.append(operation(ticks, draw(st.sampled_from(OPERATIONS))))
        elif choice == "phase":
            thread.statements.append(phase(ticks, draw(st.sampled_from(PHASES))))
        elif choice == "progress":
            thread.statements.append(
                Progress(ticks, draw(st.integers(0, 1 << 40)), draw(st.sampled_from((0, 99))), draw(st.booleans()))
            )
        elif choice == "blocked":
            blocked = draw(st.integers(0, ticks - before))
            thread.statements.append(Blocked(ticks, blocked, draw(st.integers(0, blocked))))
        elif choice == "task":
            elapsed = draw(st.sampled_from((0, 1, 127, 255, 256, 257, 1 << 20)) | st.integers(0, 1 << 50))
            task = Task(ticks, draw(st.sampled_from(OPERATIONS)), elapsed, draw(st.integers(0, elapsed)))
            thread.statements.append(task)
        elif choice == "chunk":
            thread.statements.append(NewChunk())
        elif depth > 0:
            thread.statements.append(End(ticks))
        depth = sum(isinstance(s, Begin) for s in thread.statements) - sum(
            isinstance(s, End) for s in thread.statements
        )
    return thread


@st.composite
def queues(draw: st.DrawFn, stream: int, start: int) -> QueueScript:
    """Device work that may start before the work before it, last long, and lie outside the process's life."""
    queue = QueueScript(stream, draw(st.sampled_from((0, 0, 1, 7, fmt.HOST))))
    for _ in range(draw(st.integers(0, 12))):
        if draw(st.integers(0, 5)) == 0:
            queue.statements.append(NewChunk())
        start = max(0, start + draw(st.sampled_from((-30, -1, 0, 1, 5, 40))))
        end = start + draw(st.sampled_from((0, 1, 2, 9, 60, 900)))
        kind = draw(st.sampled_from(ON_HOST if queue.device == fmt.HOST else ON_DEVICE))
        moved = 0 if kind in (DeviceWork.KERNEL, *ON_HOST) else draw(st.integers(0, 1 << 40))
        name = draw(st.sampled_from(("gemm", "add")))
        queue.statements.append(Work(start, end, kind, name, *draw(st.sampled_from(LAUNCHES)), moved))
    return queue


@st.composite
def costs(draw: st.DrawFn) -> dict[str, Cost]:
    """Costs of some kinds of events, from none to more than the gaps between events."""
    values = st.sampled_from((0.0, 0.25, 1.0, 3.5, 30.0, 700.0))
    bounds = st.tuples(values, values, values).map(lambda found: Bounds(*sorted(found)))
    return draw(st.dictionaries(st.sampled_from(COST_KEYS), st.builds(Cost, bounds, bounds, bounds, st.just(1))))


@st.composite
def scripts(draw: st.DrawFn) -> ProcessScript:
    start = draw(st.sampled_from((0, 20, 10**12)))
    streams = draw(st.lists(st.sampled_from((0, 1, 2, 3, 11)), unique=True, max_size=5))
    script = ProcessScript(start=start, threads=[draw(threads(stream, max(start - 10, 0))) for stream in streams])
    streams = draw(st.lists(st.sampled_from((4, 5, 6, 12)), unique=True))
    script.queues = [draw(queues(stream, max(start - 10, 0))) for stream in streams]
    script.coincident = draw(st.booleans())
    script.costs = draw(st.none() | costs())
    script.amplification = draw(st.sampled_from((1, 1, 3)))
    if draw(st.booleans()):
        script.stop = start + draw(st.integers(1, 300))
    elif draw(st.booleans()):
        script.limit = start + draw(st.integers(1, 300))
    return script


@given(scripts(), st.sampled_from((1, 2, 5, 1000)))
@settings(max_examples=250, deadline=None)
def test_sweep_equals_its_twin(script: ProcessScript, entries_per_chunk: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = write_script(script, Path(directory), entries_per_chunk)
        found = sweep_script(script, path, by_thread=True)
        without_threads = sweep_script(script, path)
        uncorrected = sweep_script(replace(script, costs=None), path)
    expected = sweep_twin(script)
    assert as_dicts(found) == expected
    assert as_dicts(without_threads) == expected | {"threads": {}}
    assert uncorrected.breakdown == found.breakdown
    wall = found.end_ticks - found.start_ticks
    assert sum(row[-1] for row in found.breakdown) == wall
    assert sum(row[-1] for row in found.waits) == sum(row[-1] for row in found.breakdown if row[3] == "wait")
    assert sum(row[2] for row in found.waits) >= found.events["wait"]
    assert found.complete == (script.stop is not None)
    for device in found.devices:
        by_launch = sum(row[3] for row in found.device_operations if row[0] == device.device)
        assert by_launch == device.busy_ticks <= wall


@given(scripts().filter(lambda script: script.costs is not None))
@settings(max_examples=150, deadline=None)
def test_corrected_times(script: ProcessScript) -> None:
    """No time is below zero, more overhead leaves less, and all overhead was either removed or could not be."""
    with tempfile.TemporaryDirectory() as directory:
        path = write_script(script, Path(directory))
        found = sweep_script(script, path)
        free = sweep_script(replace(script, costs=dict.fromkeys(COST_KEYS, certain_cost(0, 0))), path)
    corrected = as_dicts(found)["corrected"]
    assert all(min(bounds) >= 0 for bounds in corrected.values())
    wall = found.end_ticks - found.start_ticks
    sums = [sum(bounds[i] for bounds in corrected.values()) for i in range(3)]
    assert wall >= sums[0] >= sums[1] >= sums[2] >= 0
    correction = found.correction
    assert correction is not None
    charged = Twin(script).charged
    for i in range(3):
        removed = sum(row[-1][i] for row in correction.removed)
        turned = sum(row[-1][i] for row in correction.turned)
        assert sums[i] == wall - (removed - turned) / PARTS_PER_TICK
        assert removed + correction.uncorrectable[i] == PARTS_PER_TICK * charged[i]
    assert {row: bounds[1] for row, bounds in as_dicts(free)["corrected"].items()} == {
        row[:-1]: row[-1] for row in free.breakdown
    }


@given(threads(0, 0), st.tuples(*[st.integers(0, 9)] * 3), st.tuples(*[st.integers(0, 9)] * 3), st.sampled_from((1, 4)))
@settings(max_examples=150, deadline=None)
def test_injected_overhead_is_removed(
    thread: ThreadScript, of_operation: tuple[int, ...], of_call: tuple[int, ...], amplification: int
) -> None:
    """A trace, and the same trace with overhead put into it: corrected it is as it was, to what is uncorrectable."""
    clean = ProcessScript(threads=[thread])
    slow = ProcessScript(threads=[ThreadScript(0, thread.start)], amplification=amplification)
    slow.costs = {
        "operation": certain_cost(*of_operation), "boundary": certain_cost(*of_call), "cuda": certain_cost(*of_call)
    }  # fmt: skip
    stack: list[Begin] = []
    added = 0
    for statement in thread.statements:
        if isinstance(statement, NewChunk):
            continue
        slow.threads[0].statements.append(replace(statement, ticks=statement.ticks + added))
        if isinstance(statement, Begin | End):
            frame = statement if isinstance(statement, Begin) else stack.pop()
            stack += [statement] if isinstance(statement, Begin) else []
            inside, outside, rest = of_operation if frame.kind is not NameKind.BOUNDARY else of_call
            added += amplification * inside if isinstance(statement, Begin) else amplification * outside + rest
    clean.stop = 6000 + max((s.ticks for s in thread.statements if not isinstance(s, NewChunk)), default=thread.start)
    slow.stop = clean.stop + added
    with tempfile.TemporaryDirectory() as directory:
        before = as_dicts(sweep_script(clean, write_script(clean, Path(directory, "clean"))))["breakdown"]
        after = as_dicts(sweep_script(slow, write_script(slow, Path(directory, "slow"))))
    corrected = {row: bounds[1] for row, bounds in after["corrected"].items() if bounds[1]}
    difference = {row: corrected.get(row, 0) - before.get(row, 0) for row in {*corrected, *before}}
    assert all(ticks >= 0 for ticks in difference.values())
    assert sum(difference.values()) == after["uncorrectable"][1]


@given(st.integers(9, 40), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_many_threads(count: int, random) -> None:  # type: ignore[no-untyped-def]
    """More threads than the sweep looks at all at once."""
    script = ProcessScript(stop=10_000)
    for stream in range(count):
        thread = ThreadScript(stream, 0)
        ticks = 0
        for _ in range(random.randrange(12)):
            ticks += random.randrange(50)
            begin = (
                boundary(ticks, random.choice(list(Category)))
                if random.random() < 0.8
                else operation(ticks, "inference")
            )
            length = random.randrange(50)
            ticks += length
            blocked = [Blocked(ticks, random.randint(0, length))] if random.random() < 0.3 else []
            thread.statements += [begin, *blocked, End(ticks)]
        script.threads.append(thread)
    with tempfile.TemporaryDirectory() as directory:
        found = sweep_script(script, write_script(script, Path(directory)), by_thread=True)
    assert as_dicts(found) == sweep_twin(script)
