"""Samples of rollouts: an agent loop with known waits, tools and generations, held against its stopwatch."""

import asyncio
import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

import rlscope
from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.analyze import analyze
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.model import DeviceWork
from rlscope.trace.reader import open_trace

TOLERANCE = 0.03
#: By how much a sum may differ besides, because other programs had the processor between a record and its stopwatch.
PREEMPTED_S = 0.05


@dataclass
class Stopwatch:
    """What the program itself measures."""

    elapsed_s: list[float] = field(default_factory=list)
    queue_s: list[float] = field(default_factory=list)
    ends_s: list[float] = field(default_factory=list)


async def turn(operation: str, seconds: float) -> None:
    """A coroutine of its own, whose operation belongs to the sample that awaits it."""
    with rlscope.operation(operation):
        await asyncio.sleep(seconds)


def score() -> None:
    """A function without a coroutine: its operation is a part of the sample too."""
    with rlscope.operation("reward"):
        until = time.perf_counter() + 0.01
        while time.perf_counter() < until:
            pass


async def rollout(number: int, slots: asyncio.Semaphore, watch: Stopwatch) -> None:
    began = time.perf_counter()
    with rlscope.operation("rollout"):
        async with slots:
            queued = time.perf_counter() - began
            await turn("generate", 0.12 + 0.03 * number)
            await turn("tool_call", 0.05)
            score()
        rlscope.report_sample("math", version=number // 4, tokens=100 + number, discarded=number == 3)
    watch.ends_s.append(time.perf_counter())
    watch.elapsed_s.append(watch.ends_s[-1] - began)
    watch.queue_s.append(queued)


async def iteration(watch: Stopwatch) -> None:
    slots = asyncio.Semaphore(6)
    await asyncio.gather(*(rollout(number, slots, watch) for number in range(12)))


def analyzed(trace: Path) -> Analysis:
    return analyze(open_trace(trace))


def test_an_agent_loop_is_as_its_stopwatch_says(tmp_path: Path) -> None:
    watch = Stopwatch()
    with rlscope.profile(tmp_path / "trace"):
        rlscope.report_progress(timesteps=0)
        asyncio.run(iteration(watch))
        rlscope.report_progress(timesteps=1)
    analysis = analyzed(tmp_path / "trace")
    (row,) = analysis.samples
    assert (row.name, row.count, row.discarded, row.timed) == ("math", 12, 1, 12)
    assert (row.tokens, row.discarded_tokens) == (12 * 100 + 66, 103)
    assert (row.oldest_version, row.newest_version) == (0, 2)
    assert row.elapsed_s == pytest.approx(sum(watch.elapsed_s), rel=TOLERANCE, abs=PREEMPTED_S)
    assert row.elapsed_max_s == pytest.approx(max(watch.elapsed_s), rel=TOLERANCE, abs=PREEMPTED_S)
    assert row.queue_s == pytest.approx(sum(watch.queue_s), rel=TOLERANCE, abs=PREEMPTED_S)
    (tail,) = analysis.sample_tails
    assert (tail.iteration, tail.samples, tail.idle_s) == (0, 12, None)
    assert tail.tail_s == pytest.approx(watch.ends_s[-1] - watch.ends_s[10], rel=TOLERANCE, abs=PREEMPTED_S)


def test_each_task_has_its_own_sample_again_and_again(tmp_path: Path) -> None:
    known_s = {0.2: 0.0, 0.3: 0.0}

    async def worker(seconds: float) -> None:
        for _ in range(3):
            began = time.perf_counter()
            await turn("generate", seconds)
            rlscope.report_sample(f"{seconds}", version=0, tokens=1)
            known_s[seconds] += time.perf_counter() - began
            await asyncio.sleep(0.1)  # belongs to none

    async def both() -> None:
        await asyncio.gather(worker(0.2), worker(0.3))

    with rlscope.profile(tmp_path / "trace"):
        asyncio.run(both())
    rows = {row.name: row for row in analyzed(tmp_path / "trace").samples}
    for seconds in (0.2, 0.3):
        assert rows[f"{seconds}"].timed == 3
        assert rows[f"{seconds}"].elapsed_s == pytest.approx(known_s[seconds], rel=TOLERANCE, abs=PREEMPTED_S)
        assert rows[f"{seconds}"].queue_s < PREEMPTED_S


def test_a_thread_makes_samples_too(tmp_path: Path) -> None:
    known_s = []

    def worker() -> None:
        rlscope.report_sample("unknown", version=0, tokens=1)
        for _ in range(2):
            began = time.perf_counter()
            with rlscope.operation("generate"):
                time.sleep(0.2)
            rlscope.report_sample("known", version=1, tokens=1)
            known_s.append(time.perf_counter() - began)

    with rlscope.profile(tmp_path / "trace"):
        thread = threading.Thread(target=worker)
        thread.start()
        thread.join()
    known, unknown = analyzed(tmp_path / "trace").samples
    assert (known.timed, known.queue_s) == (2, 0.0)
    assert known.elapsed_s == pytest.approx(sum(known_s), rel=TOLERANCE, abs=PREEMPTED_S)
    assert (unknown.count, unknown.timed, unknown.elapsed_p50_s) == (1, 0, None)


def test_wrong_samples_are_ignored_with_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with rlscope.profile(tmp_path / "trace"):
        rlscope.report_sample("", version=0, tokens=1)
        rlscope.report_sample(7, version=0, tokens=1)  # type: ignore[arg-type]
        rlscope.report_sample("a", version=-1, tokens=1)
        rlscope.report_sample("a", version=0, tokens=1.5)
        rlscope.report_sample("a", version=2.0, tokens=1 << 40)
    (line,) = capfd.readouterr().err.splitlines()
    assert line == (
        "rlscope: report_sample() was ignored: a name, a non-empty str, was expected, '' was found. "
        "The program goes on."
    )
    (row,) = analyzed(tmp_path / "trace").samples
    assert (row.name, row.newest_version, row.tokens) == ("a", 2, 1 << 40)
    rlscope.report_sample("a", version=0, tokens=-1)
    assert not capfd.readouterr().err


def written(directory: Path) -> Path:
    """Twenty samples in the second iteration, of which the last one comes 400 ticks after the others."""
    writer = TraceWriter(directory)
    process = writer.process(pid=7, start_ticks=0)
    main = process.thread()
    main.sample(10, "code", 5, 30, (8, 2))
    main.progress(20, 0)
    for number in range(17):
        main.sample(100 + number, "math", 6, 10, (50, 40), discarded=number < 2)
    for ticks, version in ((200, 4), (300, 7), (600, 6)):
        main.sample(ticks, "math", version, 10, (100, 100))
    queue = process.queue(0)
    queue.record(DeviceWork.KERNEL, 0, 250, "decode", process.launch_site("generate", "inference"))
    queue.record(DeviceWork.KERNEL, 400, 450, "update", process.launch_site("update", "backpropagation"))
    process.stop(1000)
    return writer.write({"command": ["x"], "machine": {}})


def test_tails_staleness_and_discarded_work_are_exact(tmp_path: Path) -> None:
    analysis = analyzed(written(tmp_path / "trace"))
    tick_s = analysis.processes[0].wall_s / 1000
    code, math = analysis.samples
    assert (math.count, math.discarded, math.tokens, math.discarded_tokens) == (20, 2, 200, 20)
    assert (math.oldest_version, math.newest_version, math.staleness_max) == (4, 7, 2)
    assert math.staleness_mean == pytest.approx((2 + 0 + 1) / 20)
    assert math.queue_s == pytest.approx(17 * 10 * tick_s)
    assert math.discarded_device_s == pytest.approx(250 * tick_s * 20 / 230)
    assert code.discarded_device_s == 0
    first, second = analysis.sample_tails
    assert (first.iteration, first.samples, first.tail_s, first.idle_s) == (None, 1, 0, 0)
    # The 18th of 20 came at 200; of the 400 ticks from then on the device worked 50 and 50.
    assert (second.iteration, second.samples) == (0, 20)
    assert second.start_s == pytest.approx(200 * tick_s)
    assert second.tail_s == pytest.approx(400 * tick_s)
    assert second.idle_s == pytest.approx(300 * tick_s)
    assert analysis.token_rates.tokens == 230
    assert analysis.token_rates.trained_tokens_per_s == pytest.approx(210 / analysis.processes[0].wall_s)


def test_analyze_shows_samples(tmp_path: Path) -> None:
    trace = str(written(tmp_path / "trace"))
    shown = CliRunner().invoke(analyze_verb, [trace, "--all"], catch_exceptions=False).output
    assert "Samples of rollouts" in shown
    assert "Tails of iterations" in shown
    assert "230 tokens" in " ".join(shown.split())
    document = json.loads(CliRunner().invoke(analyze_verb, [trace, "--json"], catch_exceptions=False).output)
    assert [row["name"] for row in document["samples"]] == ["code", "math"]
    assert [row["samples"] for row in document["sample_tails"]] == [1, 20]
