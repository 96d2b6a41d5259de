"""Random traces: the C++ sweep over the written bytes equals its slow twin over the list of events."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from trace_builder import (
    Begin,
    End,
    NewChunk,
    ProcessScript,
    Progress,
    QueueScript,
    ThreadScript,
    Work,
    boundary,
    operation,
    phase,
    write_script,
)
from twin_sweep import as_dicts, sweep_twin

from rlscope._analysis import sweep
from rlscope.model import Category, DeviceWork
from rlscope.trace import format as fmt

OPERATIONS = ("training_loop", "simulation", "inference", "backpropagation", "step", "(none)")
CHOICES = (*("boundary",) * 3, *("end",) * 3, "operation", "phase", "chunk", "progress")
PHASES = ("collect", "train")
LAUNCHES = (("(none)", "(none)"), ("inference", "inference"), ("inference", "step"), ("training_loop", "step"))
ON_DEVICE = (DeviceWork.KERNEL, DeviceWork.COPY, DeviceWork.MEMSET)
ON_HOST = (DeviceWork.OVERHEAD, DeviceWork.GAP)


@st.composite
def threads(draw: st.DrawFn, stream: int, start: int) -> ThreadScript:
    thread = ThreadScript(stream, start + draw(st.integers(0, 30)))
    ticks, depth = thread.start, 0
    for _ in range(draw(st.integers(0, 25))):
        ticks += draw(st.sampled_from((0, 1, 2, 7, 40, 5000)))
        choice = draw(st.sampled_from(CHOICES))
        if choice == "boundary":
            category = draw(st.sampled_from(Category))
            thread.statements.append(boundary(ticks, category, draw(st.sampled_from(("f", "g"))) + category.label))
        elif choice == "operation":
            thread.statements.append(operation(ticks, draw(st.sampled_from(OPERATIONS))))
        elif choice == "phase":
            thread.statements.append(phase(ticks, draw(st.sampled_from(PHASES))))
        elif choice == "progress":
            thread.statements.append(
                Progress(ticks, draw(st.integers(0, 1 << 40)), draw(st.sampled_from((0, 99))), draw(st.booleans()))
            )
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
def scripts(draw: st.DrawFn) -> ProcessScript:
    start = draw(st.sampled_from((0, 20, 10**12)))
    streams = draw(st.lists(st.sampled_from((0, 1, 2, 3, 11)), unique=True, max_size=5))
    script = ProcessScript(start=start, threads=[draw(threads(stream, max(start - 10, 0))) for stream in streams])
    streams = draw(st.lists(st.sampled_from((4, 5, 6, 12)), unique=True))
    script.queues = [draw(queues(stream, max(start - 10, 0))) for stream in streams]
    script.coincident = draw(st.booleans())
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
        found = sweep(path, limit_ticks=script.limit, by_thread=True, coincident=script.coincident)
        without_threads = sweep(path, limit_ticks=script.limit, coincident=script.coincident)
    expected = sweep_twin(script)
    assert as_dicts(found) == expected
    assert as_dicts(without_threads) == expected | {"threads": {}}
    wall = found["end_ticks"] - found["start_ticks"]
    assert sum(row[-1] for row in found["breakdown"]) == wall
    assert found["complete"] == (script.stop is not None)
    for device in found["gpu"]:
        by_launch = sum(row[3] for row in found["gpu_operations"] if row[0] == device["device"])
        assert by_launch == device["busy_ticks"] <= wall


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
            ticks += random.randrange(50)
            thread.statements += [begin, End(ticks)]
        script.threads.append(thread)
    with tempfile.TemporaryDirectory() as directory:
        found = sweep(write_script(script, Path(directory)), by_thread=True)
    assert as_dicts(found) == sweep_twin(script)
