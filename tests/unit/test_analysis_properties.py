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
    ThreadScript,
    boundary,
    operation,
    phase,
    write_script,
)
from twin_sweep import as_dicts, sweep_twin

from rlscope._analysis import sweep
from rlscope.model import Category

OPERATIONS = ("training_loop", "simulation", "inference", "backpropagation", "step", "(none)")
CHOICES = (*("boundary",) * 3, *("end",) * 3, "operation", "phase", "chunk", "progress")
PHASES = ("collect", "train")


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
def scripts(draw: st.DrawFn) -> ProcessScript:
    start = draw(st.sampled_from((0, 20, 10**12)))
    streams = draw(st.lists(st.sampled_from((0, 1, 2, 3, 11)), unique=True, max_size=5))
    script = ProcessScript(start=start, threads=[draw(threads(stream, max(start - 10, 0))) for stream in streams])
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
        found = sweep(path, limit_ticks=script.limit, by_thread=True)
        without_threads = sweep(path, limit_ticks=script.limit)
    expected = sweep_twin(script)
    assert as_dicts(found) == expected
    assert as_dicts(without_threads) == expected | {"threads": {}}
    wall = found["end_ticks"] - found["start_ticks"]
    assert sum(row[-1] for row in found["breakdown"]) == wall
    assert found["complete"] == (script.stop is not None)


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
