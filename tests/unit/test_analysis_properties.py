"""Random traces: the C++ sweep equals its slow twin, and corrected times and their intervals hold the truth."""

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from random_scripts import CALLS, COST_KEYS, scripts, threads
from trace_builder import (
    Absent,
    Begin,
    End,
    NewChunk,
    ProcessScript,
    ThreadScript,
    boundary,
    certain_cost,
    operation,
    sweep_script,
    write_script,
)
from twin_sweep import Twin, as_dicts, sweep_twin

from rlscope.analysis.correction.corrected import PARTS_PER_TICK
from rlscope.model import Category, NameKind


@given(scripts(), st.sampled_from((1, 2, 5, 1000)))
@settings(max_examples=250, deadline=None)
def test_sweep_equals_its_twin(script: ProcessScript, entries_per_chunk: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = write_script(script, Path(directory), entries_per_chunk)
        found = sweep_script(script, path, by_thread=True)
        without_threads = sweep_script(script, path)
        decoded_ahead = sweep_script(script, path, by_thread=True, decodes_ahead=True)
        uncorrected = sweep_script(replace(script, costs=None), path)
    expected = sweep_twin(script)
    assert as_dicts(found) == expected
    assert as_dicts(without_threads) == expected | {"threads": {}}
    assert decoded_ahead == found
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


def test_more_operations_than_a_set_of_64_bits_has_bits(tmp_path: Path) -> None:
    thread = ThreadScript(0, 0)
    for start in range(0, 700, 10):
        begin = [operation(start, f"op{start // 10}"), boundary(start + 4, Category.BACKEND)]
        thread.statements += [*begin, End(start + 9), End(start + 10)]
    script = ProcessScript(stop=700, threads=[thread])
    found = as_dicts(sweep_script(script, write_script(script, tmp_path), by_thread=True))
    assert found == sweep_twin(script)
    names = [f"op{number}" for number in range(70)]
    assert {row[2:4]: ticks for row, ticks in found["breakdown"].items()} == {
        (name, category): 5 for name in names for category in ("python", "backend")
    }


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
            begin = boundary(ticks, random.choice([*CALLS])) if random.random() < 0.8 else operation(ticks, "inference")
            length = random.randrange(50)
            ticks += length
            blocked = [Absent(ticks, random.randint(0, length))] if random.random() < 0.3 else []
            thread.statements += [begin, *blocked, End(ticks)]
        script.threads.append(thread)
    with tempfile.TemporaryDirectory() as directory:
        found = sweep_script(script, write_script(script, Path(directory)), by_thread=True)
    assert as_dicts(found) == sweep_twin(script)
