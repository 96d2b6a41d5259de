"""Why devices do nothing: exact cases, and random processes against their twins, interval by interval."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from random_scripts import scripts
from trace_builder import ProcessScript, parse_script, sweep_script, write_script
from twin_sweep import Twin, is_on_device, sample_tails

from benchmarks.trace_writer import TraceWriter
from rlscope._analysis import device_idle
from rlscope.analysis.analysis import analyze
from rlscope.analysis.devices.idle import IdleCause, idle_cause
from rlscope.analysis.devices.swept import SweptIdle
from rlscope.analysis.document import document_of
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.model import Category
from rlscope.trace.reader import open_trace

ONE_CLOCK = (0, 0, 1, 1)

ONE_PROCESS = """
process start=0 stop=1000
thread 0
100 + training_loop
110 + inference
120 + generate
130 + backend:torch.linear
150 + cuda:cudaLaunchKernel
160 -
170 -
190 -
200 -
200 + simulation
210 + reward
260 -
260 + tool_call
270 + wait:_socket.socket.recv
290 -
300 -
300 + simulator:mj_step
310 -
320 -
330 + wait_for_batch
340 + wait:time.sleep
370 -
380 -
390 + compile
400 + backend:torch.compile
420 -
430 -
440 + phase:evaluation
450 + inference
460 -
470 -
480 + wait:select.poll
500 -
510 + advantages
520 + backend:torch.mean
540 -
550 -
600 -
700 + inference
710 -
queue 5 device=0
165-195 kernel gemm launch=inference/generate
560-580 kernel gemm launch=inference/generate
800-900 kernel gemm launch=inference/generate
"""


def seconds_by_cause(directory: Path) -> dict[str, int]:
    analysis = analyze(open_trace(directory))
    found: dict[str, int] = {}
    for row in analysis.device_idle:
        found[row.cause] = found.get(row.cause, 0) + round(row.seconds * 1e9)
    return found


def test_each_instant_of_one_process_has_one_cause(tmp_path: Path) -> None:
    """The loop is from 100 to 600, and the device works for 50 of it."""
    write_script(parse_script(ONE_PROCESS), tmp_path)
    found = seconds_by_cause(tmp_path)
    assert found == {
        "launch-bound": 35,  # 130-165: in the backend and in CUDA
        "reward": 50,
        "tool": 40,
        "simulation": 30,
        "queue empty": 50,
        "compile": 40,
        "evaluation": 30,
        "waiting": 20,
        "backend": 20,  # of `advantages`, which gives the device no work
        # 100-130, 195-200, 320-330, 380-390, 430-440, 470-480, 500-520, 540-560, 580-600.
        "Python": 30 + 5 + 10 + 10 + 10 + 10 + 20 + 20 + 20,
    }
    assert sum(found.values()) == 500 - 50


def test_operations_and_stages_are_named(tmp_path: Path) -> None:
    write_script(parse_script(ONE_PROCESS), tmp_path)
    rows = document_of(analyze(open_trace(tmp_path)))["device_idle"]
    assert isinstance(rows, list)
    assert {
        "device": 0, "process": "main", "cause": "launch-bound", "stage": "inference", "operation": "generate",
        "seconds": 3.5e-8,
    } in rows  # fmt: skip


def test_without_operations_the_whole_life_is_unexplained_or_waiting(tmp_path: Path) -> None:
    write_script(
        parse_script(
            "process start=0 stop=100\nthread 0\n10 + wait:select.poll\n30 -\nqueue 5 device=0\n20-40 kernel gemm"
        ),
        tmp_path,
    )
    assert seconds_by_cause(tmp_path) == {"waiting": 10, "unexplained": 70}


def test_a_device_is_idle_while_weights_are_synchronised(tmp_path: Path) -> None:
    """The copy between devices is work; before and after it the synchronisation keeps the device."""
    script = Path(__file__).parent.parent / "golden" / "stage_synchronisation.trace.txt"
    write_script(parse_script(script.read_text()), tmp_path)
    found = seconds_by_cause(tmp_path)
    assert found == {"synchronisation": 15 + 15 + 5 + 5, "Python": 10 + 20}
    assert sum(found.values()) == 90 - 20


EIGHT_SAMPLES = "\n".join(["150 sample math version 0 tokens 1"] * 8)
TAILS = f"""
process start=0 stop=1000
thread 0
0 + training_loop
0 progress 0
0 + inference
100 + wait:select.epoll
{EIGHT_SAMPLES}
200 sample math version 0 tokens 1     # the ninth of ten
260 -
260 + cuda:cudaLaunchKernel
270 -
280 -
280 + simulation
280 + reward
300 -
300 -
300 + wait_for_batch
310 -
310 + wait:select.epoll
330 -
330 + backpropagation
340 -
350 sample math version 0 tokens 1     # the tail has ended
350 + inference
400 -
400 progress 1
450 -
queue 5 device=0
0-110 kernel gemm launch=inference/inference
205-215 kernel gemm launch=inference/inference
"""


def test_a_tail_is_a_cause_where_nothing_else_keeps_the_device(tmp_path: Path) -> None:
    """The tail is from 200 to 350, and the loop ends at 450."""
    write_script(parse_script(TAILS), tmp_path)
    rows = Counter[tuple[str, str]]()
    for row in analyze(open_trace(tmp_path)).device_idle:
        rows[row.cause, row.stage] += round(row.seconds * 1e9)
    assert rows == {
        ("waiting", "inference"): 90,  # 110-200, before the tail
        ("tail", "inference"): 5 + 45 + 10 + 10,  # 200-205, 215-260 waiting, 260-270 launching, 270-280 in Python
        ("reward", "simulation"): 20,
        ("tail", "training_loop"): 10 + 20,  # 300-310 in wait_for_batch, 310-330 waiting
        ("Python", "backpropagation"): 10,
        ("Python", "training_loop"): 10 + 50,  # 340-350, in the tail too, and 400-450
        ("Python", "inference"): 50,  # 350-400
    }
    assert sum(rows.values()) == 450 - 110 - 10


TRAINER = """
process start=0 stop=100
thread 0
0 + training_loop
0 + wait_for_batch
5 + wait:posix.read pipe:[1]
40 -
50 -
50 + backpropagation
90 -
100 -
queue 5 device=0
60-80 kernel gemm launch=backpropagation/backpropagation
"""
ROLLOUT = """
process start=0 stop=100
thread 0
10 + inference
10 + generate
20 + backend:torch.linear
30 -
35 -
35 -
35 + wait:posix.read pipe:[2]
55 -
90 + inference
95 -
queue 5 device=0
22-28 kernel gemm launch=inference/generate
"""


def write_two(directory: Path, scripts: list[str], is_linked: bool = True) -> Path:
    """A trainer and a rollout process on one device."""
    writer = TraceWriter(directory)
    for number, (name, text) in enumerate(zip(("trainer", "rollout"), scripts, strict=True)):
        script = parse_script(text)
        process = writer.process(pid=7 + number, parent_pid=7 if number else 1, start_ticks=script.start)
        process.properties({"process_name": name, "devices": {"0": {"uuid": "GPU-a", "name": "NVIDIA H200"}}})
        if is_linked and number:
            thread = process.thread(stream=3, start_ticks=1)
            thread.boundary(1, 1, Category.WAIT, "posix.write pipe:[1]")
        _add(script, process)
    return writer.write_complete()


def _add(script: ProcessScript, process: Any) -> None:
    from trace_builder import _add as add

    add(script, process)


def test_of_two_processes_the_one_speaks_that_works_in_an_operation(tmp_path: Path) -> None:
    """The loop is the trainer's, from 0 to 100; the device works from 22 to 28 and from 60 to 80."""
    analysis = analyze(open_trace(write_two(tmp_path, [TRAINER, ROLLOUT])))
    found = {(row.process, row.cause, row.operation): round(row.seconds * 1e9) for row in analysis.device_idle}
    assert found == {
        # 0-10, before the rollout process speaks, and 35-50: in Python and waiting alike.
        ("trainer", "queue empty", "wait_for_batch"): 10 + 15,
        ("rollout", "Python", "generate"): 10 + 5,  # 10-20 and 30-35; the trainer waits
        ("rollout", "launch-bound", "generate"): 2 + 2,  # 20-22 and 28-30
        ("trainer", "Python", "backpropagation"): 10 + 10,  # 50-60 and 80-90
        # 90-100: of two that are both in Python in an operation, the first one speaks.
        ("trainer", "Python", "training_loop"): 10,
    }
    assert sum(found.values()) == 100 - 6 - 20


def test_a_wait_for_another_recorded_process_in_no_stage_is_an_empty_queue(tmp_path: Path) -> None:
    trainer = TRAINER.replace("0 + wait_for_batch", "0 + take").replace("10 + inference", "10 + x")
    linked = analyze(open_trace(write_two(tmp_path / "a", [trainer, ROLLOUT])))
    alone = analyze(open_trace(write_two(tmp_path / "b", [trainer, ROLLOUT], is_linked=False)))
    for analysis, cause in ((linked, "queue empty"), (alone, "waiting")):
        waiting = [row for row in analysis.device_idle if row.operation == "take" and row.cause == cause]
        assert sum(round(row.seconds * 1e9) for row in waiting) == 5 + 5  # 5-10 and 35-40


def test_analyze_shows_who_had_the_device_and_why_it_did_nothing(tmp_path: Path) -> None:
    trace = write_two(tmp_path, [TRAINER, ROLLOUT])
    shown = CliRunner().invoke(analyze_verb, [str(trace), "--all"], catch_exceptions=False).output
    lines = [line.split() for line in shown.splitlines()]
    for title in ("Who had the GPU", "How the GPU passed", "Why GPUs did nothing in the training loop"):
        assert title in shown
    assert [line[1] for line in lines if line[:1] == ["0"] and line[1] in ("trainer", "(all)")] == ["trainer", "(all)"]
    (empty,) = [line for line in lines if line[1:3] == ["queue", "empty"]]
    assert empty[-2:] == ["34", "wait_for_batch"]  # 25 of 74


def test_devices_of_one_process_are_told_apart(tmp_path: Path) -> None:
    write_script(
        parse_script(
            "process start=0 stop=100\nthread 0\n0 + inference\n50 + wait:select.poll\n90 -\n100 -\n"
            "queue 5 device=0\n0-60 kernel gemm launch=inference/inference\nqueue 6 device=1\n40-100 kernel gemm"
        ),
        tmp_path,
    )
    rows = analyze(open_trace(tmp_path)).device_idle
    assert [(row.device, row.cause, round(row.seconds * 1e9)) for row in rows] == [
        (0, "Python", 10),
        (0, "waiting", 30),
        (1, "Python", 40),
    ]


def test_no_device_no_rows(tmp_path: Path) -> None:
    write_script(parse_script("process start=0 stop=100\nthread 0\n0 + inference\n100 -\n"), tmp_path)
    assert not analyze(open_trace(tmp_path)).device_idle


@pytest.mark.parametrize(
    ("operation", "stage", "category", "cause"),
    [
        ("gather", "synchronisation", "wait", IdleCause.SYNCHRONISATION),
        ("tool_call", "simulation", "wait", IdleCause.TOOL),
        ("step", "simulation", "python", IdleCause.SIMULATION),
        ("compile", "inference", "backend", IdleCause.COMPILE),
        ("generate", "inference", "wait", IdleCause.WAITING),
        ("generate", "inference", "cuda", IdleCause.LAUNCH_BOUND),
        ("generate", "inference", "simulator", IdleCause.SIMULATION),
        ("(none)", "(none)", "cuda", IdleCause.UNEXPLAINED),
        ("(none)", "(none)", "wait", IdleCause.WAITING),
    ],
)
def test_causes_in_their_order(operation: str, stage: str, category: str, cause: IdleCause) -> None:
    row = SweptIdle(stage, operation, category, False, "", False, 1)
    assert idle_cause(row, False, False, True) is cause


@pytest.mark.parametrize(
    ("operation", "stage", "category", "cause"),
    [
        ("reward", "simulation", "python", IdleCause.REWARD),
        ("tool_call", "simulation", "wait", IdleCause.TOOL),
        ("compile", "inference", "backend", IdleCause.COMPILE),
        ("generate", "inference", "simulator", IdleCause.SIMULATION),
        ("sync_weights", "synchronisation", "wait", IdleCause.SYNCHRONISATION),
        ("generate", "inference", "wait", IdleCause.TAIL),
        ("decode", "inference", "cuda", IdleCause.TAIL),
        ("wait_for_batch", "training_loop", "python", IdleCause.TAIL),
        ("(none)", "(none)", "wait", IdleCause.TAIL),
        ("(none)", "(none)", "python", IdleCause.UNEXPLAINED),
        ("prepare_inputs", "training_loop", "python", IdleCause.PYTHON),
        ("update_actor", "backpropagation", "wait", IdleCause.WAITING),
        ("update_actor", "backpropagation", "cuda", IdleCause.LAUNCH_BOUND),
    ],
)
def test_causes_in_a_tail(operation: str, stage: str, category: str, cause: IdleCause) -> None:
    row = SweptIdle(stage, operation, category, False, "", True, 1)
    assert idle_cause(row, False, True, True) is cause


def test_a_process_that_only_evaluates_is_explained_as_any_other() -> None:
    row = SweptIdle("inference", "generate", "python", True, "", False, 1)
    assert idle_cause(row, False, False, True) is IdleCause.EVALUATION
    assert idle_cause(row, False, False, False) is IdleCause.PYTHON


class Watched(Twin):
    """Notes what the process does, stretch by stretch."""

    def __init__(self, script: ProcessScript) -> None:
        self.stretches: list[tuple[int, int, tuple[Any, ...]]] = []
        super().__init__(script)

    def account_for_threads(self, start: int, end: int) -> None:
        now = start
        for stream, category, ticks in self.owned(start, end):
            turn, is_outside, *_ = self.owner_key(stream, category)
            rank = 3 * is_outside + turn
            self.stretches.append((now, now + ticks, (rank, self.doing(stream, category))))
            now += ticks
        super().account_for_threads(start, end)


def tails_of(twin: Watched) -> list[tuple[int, int]]:
    return [(start, end) for *_, start, end, _ in sample_tails(twin) if start < end]


def expected_idle(
    twins: list[Watched], lives: list[tuple[int, int]], span: tuple[int, int], device: int
) -> dict[tuple[Any, ...], int]:
    """By user and what it does, between any two times at which something changes."""
    edges = {*span}
    for twin, (start, end) in zip(twins, lives, strict=True):
        edges |= {start, end, *(edge for stretch in twin.stretches for edge in stretch[:2])}
        edges |= {edge for *_, work in twin.work for edge in (work.start, work.end)}
        edges |= {edge for tail in tails_of(twin) for edge in tail}
    found: dict[tuple[Any, ...], int] = {}
    for start, end in pairwise(sorted(edge for edge in edges if span[0] <= edge <= span[1])):
        busy = any(
            place == device and is_on_device(work.kind)
            and max(work.start, twin.start) <= start and end <= min(work.end, twin.end)
            for twin in twins for *_, place, work in twin.work
        )  # fmt: skip
        if busy:
            continue
        speaking = [
            (doing[0], number, doing[1])
            for number, (twin, life) in enumerate(zip(twins, lives, strict=True))
            for first, last, doing in twin.stretches
            if first <= start and end <= last and life[0] <= start and end <= life[1]
        ]
        if speaking:
            _, user, doing = min(speaking, key=lambda each: each[:2])
            key = user, *doing, any(first <= start and end <= last for first, last in tails_of(twins[user]))
        else:
            key = None, "", "", "python", False, "", False
        found[key] = found.get(key, 0) + end - start
    return found


@given(st.lists(scripts(), min_size=1, max_size=3), st.sampled_from((1, 1000)), st.data())
@settings(max_examples=120, deadline=None)
def test_idle_time_against_the_twins(
    processes: list[ProcessScript], entries_per_chunk: int, data: st.DataObject
) -> None:
    """Of device 0 of up to three processes; all of them on one clock."""
    for script in processes:
        script.costs, script.coincident, script.amplification = None, False, 1
    twins = [Watched(script) for script in processes]
    with TemporaryDirectory() as directory:
        users, lives = [], []
        for number, (script, twin) in enumerate(zip(processes, twins, strict=True)):
            path = write_script(script, Path(directory, str(number)), entries_per_chunk)
            found = sweep_script(script, path)
            assert (found.start_ticks, found.end_ticks, found.loop) == (twin.start, twin.end, twin.loop())
            life = found.loop or (twin.start, twin.end)
            lives.append(life)
            users.append(((path, twin.start, twin.end, ONE_CLOCK, {0: 0}), *life, tails_of(twin)))
        start = min(life[0] for life in lives)
        span = start, max(life[1] for life in lives) + data.draw(st.integers(0, 20))
        rows = device_idle(users, [span])
    by_key: Counter[tuple[Any, ...]] = Counter()
    for row in rows:  # CUDA calls that wait and others are two rows, which read the same
        by_key[(row.user, *row.idle[:-1])] += row.idle.time
    assert by_key == expected_idle(twins, lives, span, 0)


def test_users_that_cannot_be(tmp_path: Path) -> None:
    process = ("/nowhere", 0, 1, ONE_CLOCK, {0: 1})
    with pytest.raises(ValueError, match="a span for each place was expected, but there are 1"):
        device_idle([(process, 0, 1, [])], [(0, 1)])
    assert device_idle([], []) == []
