"""Who has a device that several processes use: exact cases, and random work against the ticks of each process."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.trace_writer import TraceWriter
from rlscope._analysis import device_sharing, device_union
from rlscope.analysis.analysis import analyze
from rlscope.analysis.document import document_of
from rlscope.model import DeviceWork
from rlscope.trace.reader import open_trace

SECOND = 1_000_000_000


def write(directory: Path, works: dict[str, list[tuple[int, int]]], uuid: str = "GPU-a") -> Path:
    """Processes of ten seconds that use one device, each with work from and to so many seconds."""
    writer = TraceWriter(directory)
    for number, (name, work) in enumerate(works.items()):
        process = writer.process(pid=7 + number, parent_pid=7 if number else 1, start_ticks=0)
        process.properties({"process_name": name, "devices": {"0": {"uuid": uuid, "name": "NVIDIA H200"}}})
        process.thread()
        for start, end in work:
            process.queue(0).record(DeviceWork.KERNEL, start * SECOND, end * SECOND, "gemm")
        process.stop(10 * SECOND)
    return writer.write_complete()


def test_overlap_is_shared_and_never_split(tmp_path: Path) -> None:
    analysis = analyze(open_trace(write(tmp_path, {"trainer": [(0, 5), (8, 9)], "rollout": [(4, 6)]})))
    assert [tuple(row.record().values()) for row in analysis.device_shares] == [
        (0, "trainer", 5.0, 1.0),
        (0, "rollout", 1.0, 1.0),
        (0, "", 6.0, 1.0),
    ]
    (gpu,) = analysis.gpu
    assert gpu.busy_s == 7.0
    assert [tuple(row.record().values()) for row in analysis.device_switches] == [
        (0, "rollout", "trainer", 1, 2.0, 2.0)
    ]
    document = document_of(analysis)
    assert document["device_switches"] == [
        {"device": 0, "from": "rollout", "to": "trainer", "count": 1, "seconds": 2.0, "longest_s": 2.0}
    ]


def test_switches_are_counted_by_direction_if_the_device_does_nothing_between(tmp_path: Path) -> None:
    works = {"trainer": [(0, 1), (4, 5), (6, 7)], "rollout": [(1, 2), (5, 6), (9, 10)]}
    analysis = analyze(open_trace(write(tmp_path, works)))
    assert [tuple(row.record().values()) for row in analysis.device_switches] == [
        (0, "trainer", "rollout", 1, 2.0, 2.0),
        (0, "rollout", "trainer", 1, 2.0, 2.0),
    ]
    assert [(row.alone_s, row.shared_s) for row in analysis.device_shares] == [(3.0, 0.0), (3.0, 0.0), (6.0, 0.0)]


def test_of_those_that_end_at_once_the_first_one_had_the_device_last(tmp_path: Path) -> None:
    works = {"a": [(0, 2), (3, 4)], "b": [(1, 2)], "c": [(5, 6)]}
    analysis = analyze(open_trace(write(tmp_path, works)))
    # a goes on itself; from a to c the device passed at the fourth second.
    assert [tuple(row.record().values()) for row in analysis.device_switches] == [(0, "a", "c", 1, 1.0, 1.0)]
    works = {"a": [(0, 2)], "b": [(1, 2)], "c": [(5, 6)]}
    analysis = analyze(open_trace(write(tmp_path / "other", works)))
    assert [tuple(row.record().values()) for row in analysis.device_switches] == [(0, "a", "c", 1, 3.0, 3.0)]


def test_a_device_of_one_process_has_no_rows(tmp_path: Path) -> None:
    analysis = analyze(open_trace(write(tmp_path, {"trainer": [(0, 5)], "logger": []})))
    assert len(analysis.gpu) == 1
    assert not analysis.device_shares and not analysis.device_switches


WORK = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 25)), max_size=10)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 50), WORK), min_size=1, max_size=4), st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_sharing_against_the_ticks_of_each_process(
    processes: list[tuple[int, int, Any]], entries_per_chunk: int
) -> None:
    """What each one has alone, what is shared, and the time in which the device does nothing make up the window."""
    arguments = []
    ticks: list[set[int]] = []
    with TemporaryDirectory() as directory:
        for number, (start, wall, work) in enumerate(processes):
            process = TraceWriter(Path(), entries_per_chunk).process(start_ticks=start)
            queues = [process.queue(device) for device in (0, 0, 1)]  # the second device has no place
            own: set[int] = set()
            for queue, begin, length in work:
                queues[queue].record(DeviceWork.KERNEL, begin, begin + length, "f")
                if queue < 2:
                    own |= set(range(max(begin, start), min(begin + length, start + wall)))
            path = Path(directory, str(number))
            path.write_bytes(process.to_bytes())
            arguments.append((path, start, start + wall, (0, 0, 1, 1), {0: 0}))
            ticks.append(own)
        (found,) = device_sharing(arguments)
        assert device_union(arguments) == [len(set().union(*ticks))]
    users = [[number for number, own in enumerate(ticks) if tick in own] for tick in range(200)]
    assert found.shared == sum(len(here) > 1 for here in users)
    for number, share in enumerate(found.processes):
        assert share.alone == users.count([number])
        assert share.shared == sum(number in here and len(here) > 1 for here in users)
    idle = users.count([])
    assert sum(share.alone for share in found.processes) + found.shared + idle == 200
    assert {(row.before, row.after): (row.times, row.time, row.longest) for row in found.switches} == switches(users)


def switches(users: list[list[int]]) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Of ticks in which nobody has the device, between two processes: how often, how many, the most at once."""
    found: dict[tuple[int, int], tuple[int, int, int]] = {}
    last: list[int] = []
    idle = 0
    for here in users:
        if here and last and idle and here[0] not in last:
            count, time, longest = found.get((last[0], here[0]), (0, 0, 0))
            found[last[0], here[0]] = count + 1, time + idle, max(longest, idle)
        if here:
            last, idle = here, 0
        else:
            idle += 1
    return found


def test_processes_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="places are below 65536"):
        device_sharing([("/nowhere", 0, 1, (0, 0, 1, 1), {0: 1 << 20})])
    with pytest.raises(TypeError, match="processes must be a sequence"):
        device_sharing(5)  # type: ignore[arg-type]
