"""Ranks of a distributed training: their names, and their calls of communicators, one to one in all of them."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from recording import SCRIPTS, Recording, environment, record

from rlscope.analysis.analysis import analyze
from rlscope.analysis.ranks.matching import collectives_of
from rlscope.analysis.ranks.swept import SweptCollective
from rlscope.analysis.sweep import ProcessSweep, TraceSweep, sweep_trace
from rlscope.trace.reader import open_trace

STEPS, LATE_S, BACKWARDS = 30, 0.02, 3


@dataclass(frozen=True)
class Ranks:
    """A recorded run of tests/scripts/ranks.py."""

    recording: Recording

    @cached_property
    def stopwatches(self) -> dict[str, dict[str, Any]]:
        """What the ranks printed, by name."""
        return printed(self.recording.stdout)

    @cached_property
    def swept(self) -> TraceSweep:
        return sweep_trace(open_trace(self.recording.trace))

    @cached_property
    def processes(self) -> dict[str, ProcessSweep]:
        return {process.name: process for process in self.swept.processes if process.name.startswith("rank")}

    def calls(self, rank: str, communicator: str = "group:0") -> list[SweptCollective]:
        found = [row for row in self.processes[rank].found.collectives.rows() if row.communicator == communicator]
        return sorted(found, key=lambda row: row.sequence)


def printed(stdout: str) -> dict[str, dict[str, Any]]:
    """The last line of each rank, by its name; lines of two ranks may run into each other."""
    lines = re.findall(r'{"rank".*?}', stdout)
    return {f"rank {each['rank']}": each for each in map(json.loads, lines)}


def launch(size: int) -> list[object]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", size]
    return [*command, SCRIPTS / "ranks.py"]


def torchrun(trace: Path, size: int, *arguments: object) -> Ranks:
    recording = record(trace, *launch(size), *arguments)
    assert recording.returncode == 0, recording.stderr
    return Ranks(recording)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    return torchrun(tmp_path_factory.mktemp("two") / "trace", 2, STEPS, LATE_S)


def test_ranks_have_names(two: Ranks) -> None:
    assert {process.name for process in two.swept.processes} == {"main", "rank 0", "rank 1"}
    assert two.swept.why == ()


def test_all_calls_are_there_one_to_one(two: Ranks) -> None:
    """Those of DistributedDataParallel's reducer too, which calls from C++."""
    first, second = (two.calls(rank) for rank in ("rank 0", "rank 1"))
    assert [(row.sequence, row.function, row.moved_bytes) for row in first] == [
        (row.sequence, row.function, row.moved_bytes) for row in second
    ]
    assert [row.sequence for row in first] == list(range(len(first)))
    kinds = Counter(row.function.removeprefix("torch.distributed.") for row in first)
    # Two gradients of a layer each; the buckets are made anew after the first backward pass.
    assert kinds["all_reduce"] >= STEPS + 3 + 2 * BACKWARDS - 1
    assert kinds["barrier"] == 1 + 2 + BACKWARDS + 1
    # The reducer waits itself for the two with which it agrees on its new buckets.
    unwaited = [row.function for row in first if row.ended_ticks is None]
    assert [name.rpartition(".")[2] for name in unwaited] == ["all_gather", "broadcast", "broadcast"]


def test_all_that_is_computed_stays_the_same(two: Ranks) -> None:
    words = [str(word) for word in (*launch(2), STEPS, LATE_S)]
    plain = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=250, check=True)
    digests = {rank: each["digest"] for rank, each in printed(plain.stdout).items()}
    assert len(digests) == 2
    assert digests == {rank: each["digest"] for rank, each in two.stopwatches.items()}


def test_messages_and_sub_groups_count_apart(two: Ranks) -> None:
    for rank, function in (("rank 0", "send"), ("rank 1", "recv")):
        (message,) = two.calls(rank, "group:0:0>1")
        assert message[:4] == (f"torch.distributed.{function}", "group:0:0>1", 0, 4000)
    members = {
        name.removeprefix("communicator "): value["ranks"]
        for process in two.processes.values()
        for name, value in process.found.properties.items()
        if name.startswith("communicator ")
    }
    assert sorted(members.values()) == [[0], [0, 1], [0, 1], [1]]


def test_who_waited_for_whom_is_as_the_stopwatch_says(two: Ranks) -> None:
    """The stopwatches share a clock: their difference is how late the last one was, and how long the other waited."""
    steps = [each for each in collectives_of(two.swept) if each.parts[0].function.endswith("all_reduce")][:STEPS]
    first, second = (two.stopwatches[rank]["called_ns"][:STEPS] for rank in ("rank 0", "rank 1"))
    known_ns = [abs(a - b) for a, b in zip(first, second, strict=True)]
    late_ns = [
        max(part.called_ns for part in each.parts) - min(part.called_ns for part in each.parts) for each in steps
    ]
    waited_ns = [max(part.wait_ns(each.last_ns) for part in each.parts) for each in steps]
    assert median(known_ns) > 0.9e9 * LATE_S
    # Of each call, but for those in which the system took a processor away between a record and its stopwatch.
    for found_ns in (late_ns, waited_ns):
        differences_ns = [abs(found - known) for found, known in zip(found_ns, known_ns, strict=True)]
        assert median(differences_ns) <= max(0.03 * median(known_ns), 200_000)


def test_the_late_rank_is_named(two: Ranks) -> None:
    analysis = analyze(open_trace(two.recording.trace))
    assert [(row.process, row.cause) for row in analysis.stragglers if row.stands_out] == [("rank 1", "time.sleep")]
    for row in analysis.ranks:
        assert row.compute_s + row.wait_s + row.transfer_s + row.other_wait_s == pytest.approx(row.wall_s)


@pytest.mark.parametrize("size", [4, 8])
def test_many_ranks_are_matched_one_to_one(tmp_path: Path, size: int) -> None:
    ranks = torchrun(tmp_path / "trace", size, 5, 0.0)
    assert set(ranks.processes) == {f"rank {number}" for number in range(size)}
    collectives = collectives_of(ranks.swept)
    assert all(collective.is_matched for collective in collectives)
    members = Counter(len(collective.parts) for collective in collectives)
    assert members[size // 2] == 2 + (1 if size == 4 else 0)  # a broadcast in each half; a message has two ends too
    assert members[size] == len(ranks.calls("rank 0"))


def test_functional_collectives_are_matched_too(two: Ranks) -> None:
    """Rank 1 comes 50 ms later to the second; the third is called as compiled code does."""
    steps = [each for each in collectives_of(two.swept) if each.parts[0].function.endswith("all_reduce")]
    found = steps[STEPS : STEPS + 3]
    assert all(each.is_matched for each in found)
    assert [part.moved_bytes for each in found for part in each.parts] == [4000] * 6
    waited_ns = [max(part.wait_ns(each.last_ns) for part in each.parts) for each in found]
    assert waited_ns[1] > 40_000_000
    late = max(found[1].parts, key=lambda part: part.called_ns)
    assert late.process == "rank 1"


def test_calls_are_where_the_stopwatch_says(two: Ranks) -> None:
    for rank, stopwatch in two.stopwatches.items():
        clock = two.processes[rank].file.clock
        calls = [row for row in two.calls(rank) if row.function.endswith("all_reduce")][:STEPS]
        for row, called_ns, ended_ns in zip(calls, stopwatch["called_ns"], stopwatch["ended_ns"], strict=False):
            assert row.ended_ticks is not None
            times_ns = [clock.monotonic_ns(ticks) for ticks in (row.called_ticks, row.waited_ticks, row.ended_ticks)]
            assert called_ns <= times_ns[0] <= times_ns[1] <= times_ns[2] <= ended_ns
