"""A sweep from a time on: equals its twin on random traces, and what lies before and behind sums to the whole."""

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_scripts import scripts
from trace_builder import NewChunk, ProcessScript, QueueScript, Work, parse_script, sweep_script, write_script
from twin_sweep import Twin, as_dicts, sweep_twin

from rlscope._analysis import bytes_read, sweep
from rlscope.analysis.swept import Swept

#: A thread that native code calls is told from the chunks that are read and from its first one alone.
TRANSITIONS = ("transitions", "evaluation_transitions", "transitions_in_loop")


@st.composite
def windows(draw: st.DrawFn) -> tuple[ProcessScript, int, int]:
    """A process, when the window begins, and how many records a chunk has."""
    script = replace(draw(scripts()), costs=None, amplification=1)
    since = max(script.start + draw(st.integers(-5, 400) | st.integers(0, 20_000)), 1)
    return script, since, draw(st.sampled_from((1, 2, 5, 99)))


def chunks_of(queue: QueueScript, entries_per_chunk: int) -> list[list[Work]]:
    chunks: list[list[Work]] = []
    is_new = True
    for statement in queue.statements:
        if isinstance(statement, NewChunk):
            is_new = True
            continue
        is_full = bool(chunks) and (len(chunks[-1]) >= entries_per_chunk or statement.start < chunks[-1][-1].start)
        if is_new or is_full:
            chunks.append([])
        chunks[-1].append(statement)
        is_new = False
    return chunks


def in_reach(script: ProcessScript, since: int, entries_per_chunk: int) -> ProcessScript:
    """The process without device work of chunks before the last two of a queue that begin before the window."""
    if since <= script.start:
        return script
    begin = Twin(script, since).start
    queues = []
    for queue in script.queues:
        chunks = chunks_of(queue, entries_per_chunk)
        last = max((place for place, chunk in enumerate(chunks) if chunk[0].start < begin), default=0)
        queues.append(replace(queue, statements=[work for chunk in chunks[max(last - 1, 0) :] for work in chunk]))
    return replace(script, queues=queues)


def comparable(tables: dict[str, Any], twin: Twin) -> dict[str, Any]:
    left_out = {
        "idle",
        "samples",
        "sample_tails",
        "collectives",
        "corrected",
        "uncorrectable",
        *(TRANSITIONS if twin.has_native_threads else ()),
    }
    return {name: table for name, table in tables.items() if name not in left_out}


@given(windows())
@settings(max_examples=200, deadline=None)
def test_window_equals_its_twin(window: tuple[ProcessScript, int, int]) -> None:
    script, since, entries_per_chunk = window
    with tempfile.TemporaryDirectory() as directory:
        path = write_script(script, Path(directory), entries_per_chunk)
        found = sweep_script(script, path, by_thread=True, since_ticks=since)
        decoded_ahead = sweep_script(script, path, by_thread=True, since_ticks=since, decodes_ahead=True)
        whole = sweep_script(script, path, by_thread=True)
    seen = in_reach(script, since, entries_per_chunk)
    assert comparable(as_dicts(found), Twin(seen, since)) == comparable(sweep_twin(seen, since), Twin(seen, since))
    assert sum(row.ticks for row in found.breakdown) == found.end_ticks - found.start_ticks
    assert decoded_ahead == found
    if since <= script.start and not script.limit:
        assert found == whole
    elif since > script.start:
        assert not found.idle
        assert not found.samples
        assert not found.sample_tails
        assert not found.collectives.sequences


def ticks_by_row(found: Swept) -> dict[str, Counter[Any]]:
    return {
        "breakdown": Counter({row[:-1]: row[-1] for row in found.breakdown}),
        "threads": Counter({row[:-1]: row[-1] for row in found.threads}),
        "waits": Counter({row[:2]: row.ticks for row in found.waits}),
        "devices": Counter({row.device: row.busy_ticks for row in found.devices}),
        "device_operations": Counter({row[:3]: row.busy_ticks for row in found.device_operations}),
    }


def rounded_ticks(script: ProcessScript, since: int) -> int:
    """How many ticks the border may move between rows, where several threads ran for parts of a gap."""
    sharing = sum(gap.waiting < gap.end - gap.start for gap in Twin(script, since).gaps_at_window)
    return 2 * sharing if sharing > 1 else 0


@given(windows())
@settings(max_examples=150, deadline=None)
def test_before_and_behind_sum_to_the_whole(window: tuple[ProcessScript, int, int]) -> None:
    script, since, entries_per_chunk = window
    script = replace(script, stop=None)
    since = max(since, script.start + 1)
    removed = [work for queue in script.queues for work in queue.statements if isinstance(work, Work)]
    reached = in_reach(script, since, entries_per_chunk).queues
    seen = {id(work) for queue in reached for work in queue.statements}  # two queues may have equal work
    if any(id(work) not in seen and work.end > since for work in removed):
        return
    with tempfile.TemporaryDirectory() as directory:
        path = write_script(script, Path(directory), entries_per_chunk)
        whole = sweep_script(script, path, by_thread=True)
        if since > whole.end_ticks:
            return
        before = sweep_script(replace(script, limit=since), path, by_thread=True)
        behind = sweep_script(script, path, by_thread=True, since_ticks=since)
    assert (before.end_ticks, behind.start_ticks, behind.end_ticks) == (since, since, whole.end_ticks)
    parts = [ticks_by_row(found) for found in (before, behind)]
    for name, expected in ticks_by_row(whole).items():
        summed = parts[0][name] + parts[1][name]
        moved = sum(abs(summed[row] - expected[row]) for row in summed | expected)
        assert moved <= rounded_ticks(script, since)
    for category in ("operation", "phase"):
        assert behind.events[category] <= whole.events[category]


PHASES = """
process stop=100
thread 0
1 + phase:collect
10 + backend:f
20 -
chunk
60 + backend:f
70 -
thread 1
5 + phase:evaluation
8 + python:g
9 -
chunk
50 + backend:f
55 -
"""


def test_order_of_phases_of_several_threads(tmp_path: Path) -> None:
    """Which of two phases began last is in neither chunk of the window, so the sweep goes back to where they begin."""
    script = parse_script(PHASES)
    found = sweep_script(script, write_script(script, tmp_path), since_ticks=80)
    assert {row.phase: row.ticks for row in found.breakdown} == {"evaluation": 20}
    assert [row.phase for row in found.phases] == ["collect", "evaluation"]


OPEN_SYNC = """
process stop=100
thread 0
5 + train
chunk
20 + backend:f
30 -
thread 1
5 + cuda_wait:cudaStreamSynchronize
90 -
"""


def test_open_calls_are_in_the_operation_in_which_the_window_finds_them(tmp_path: Path) -> None:
    """The operation is the main thread's, and the chunk in which it began is not read."""
    script = parse_script(OPEN_SYNC)
    found = sweep_script(script, write_script(script, tmp_path), since_ticks=40)
    assert [(row.operation, row.ticks) for row in found.sync_points] == [("train", 50)]


NATIVE_THREAD = """
process stop=100
thread 0
1 + backend:f
chunk
60 absent blocked 30 helped 20
70 -
thread 1
0 + cuda:g
0 -
chunk
"""


def test_native_threads_are_known_from_their_first_chunk(tmp_path: Path) -> None:
    """One in a chunk before the window may have helped a thread that was blocked, which so did not wait."""
    script = parse_script(NATIVE_THREAD)
    found = sweep_script(script, write_script(script, tmp_path), since_ticks=50)
    assert {row.category: row.ticks for row in found.breakdown} == {"backend": 20, "python": 30}


CUT = """
process limit=50
thread 0
10 + backend:f
20 -
30 progress 5
50 + backend:f
60 -
70 progress 9
"""


def test_window_of_a_process_that_still_records_ends_at_its_limit(tmp_path: Path) -> None:
    """What is recorded from there on is counted in the next window, and only there."""
    script = parse_script(CUT)
    path = write_script(script, tmp_path)
    found = [sweep(path, since_ticks=since, limit_ticks=limit) for since, limit in ((1, 20), (20, 50), (50, 80))]
    assert [part.events["backend"] for part in found] == [1, 0, 1]
    assert [[each.last_timesteps for each in part.trainings] for part in found] == [[], [5], [9]]
    assert [part.end_ticks for part in found] == [20, 50, 80]


def test_window_reads_no_chunk_that_lies_before(tmp_path: Path) -> None:
    lines = ["process stop=100000", "thread 0"]
    for number in range(1000):
        lines += [f"{100 * number} + backend:f", f"{100 * number + 50} -", "chunk"]
    script = parse_script("\n".join(lines))
    path = write_script(script, tmp_path)
    before = bytes_read()
    found = sweep_script(script, path, since_ticks=99_000)
    assert bytes_read() - before < path.stat().st_size / 50
    assert found.events["backend"] == 10
    assert found.last_record_ticks == 99_950
    assert {row.category: row.ticks for row in found.breakdown} == {"backend": 500, "python": 500}
    assert sweep_script(script, path, since_ticks=99_980).last_record_ticks == 99_950


def test_window_takes_no_costs(tmp_path: Path) -> None:
    """What a thread owes of its overhead at a time depends on all that came before."""
    path = write_script(parse_script("process stop=9\nthread 0\n1 + f"), tmp_path)
    with pytest.raises(ValueError, match="since_ticks without costs"):
        sweep(path, since_ticks=5, costs={})
