"""Random traces: a walk over slices gives what their scripts say, on tracks where they nest, in as few as can be."""

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_scripts import scripts
from slices_of import SliceRow, Walked, expected_slices
from trace_builder import ProcessScript, Progress, parse_script, write_script

from rlscope._analysis import slice_batches


@given(
    scripts(), st.integers(0, 200), st.integers(1, 6000), st.sampled_from((1, 5, 1000)), st.sampled_from((1, 7, 999))
)
@settings(max_examples=200, deadline=None)
def test_slices_are_those_of_the_script(script: ProcessScript, at: int, length: int, per_chunk: int, most: int) -> None:
    start, end = script.start + at, script.start + at + length
    if at:
        script.queues = []  # of which a part of a life lacks what began long before
    with tempfile.TemporaryDirectory() as directory:
        walked = Walked(write_script(script, Path(directory), per_chunk), start, end, most)
    assert walked.rows == expected_slices(script, start, end)
    assert all(len(batch.names) == 4 * most for batch in walked.batches[:-1])
    assert [len(walked.lanes[place]) for place in range(len(walked.found.tracks))] == [
        track.slices for track in walked.found.tracks
    ]
    for rows in walked.lanes.values():
        check_nesting(rows)
    reports = [
        (statement.ticks, statement.timesteps)
        for thread in sorted(script.threads, key=lambda thread: thread.stream)
        for statement in thread.statements
        if isinstance(statement, Progress) and start <= statement.ticks <= end
    ]
    columns = (np.frombuffer(data, "<u8").tolist() for data in walked.found[1:])
    assert list(zip(*columns, strict=True)) == reports


def check_nesting(rows: list[SliceRow]) -> None:
    """Slices come in the order of their ends: each lies beside the one before it or encloses it."""
    for before, row in pairwise(rows):
        assert row.end >= before.end
        assert row.start >= before.end or row.start <= before.start


@pytest.mark.parametrize("verb", ["task step elapsed {} running 1", "work"])
def test_lanes_are_as_few_as_overlap(verb: str, tmp_path: Path) -> None:
    """At most three at once; the long one comes last by its end, and first by its start."""
    spans = [(10, 20), (15, 30), (25, 40), (22, 50), (41, 60), (5, 90)]
    if verb == "work":
        lines = ["queue 9 device=0", *(f"{start}-{end} kernel gemm" for start, end in sorted(spans))]
    else:
        ends = sorted(spans, key=lambda span: span[1])
        lines = ["thread 0", *(f"{end} {verb.format(end - start)}" for start, end in ends)]
    path = write_script(parse_script("\n".join(["process start=0 stop=100", *lines])), tmp_path)
    walked = Walked(path, 0, 100)
    most = max(sum(start <= at < end for start, end in spans) for at in range(100))
    assert [track.lane for track in walked.found.tracks] == list(range(most))


def test_an_error_of_the_function_that_takes_slices_is_raised(tmp_path: Path) -> None:
    path = write_script(parse_script("process start=0 stop=9\nthread 0\n1 + step\n2 -"), tmp_path)

    def refuse(batch: object) -> None:
        raise KeyError("no room")

    with pytest.raises(KeyError, match="no room"):
        slice_batches(path, (0, 9, (0, 0, 1, 1), 0), {}, 1, refuse)
