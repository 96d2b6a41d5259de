"""Samples of rollouts: an agent loop with known waits, tools and generations, held against its stopwatch."""

import asyncio
import json
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

import rlscope
from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.cli.analyze import analyze as analyze_verb
from rlscope.model import DeviceWork
from rlscope.trace.reader import open_trace

#: Of a time, by how much two clocks of the machine may differ.
TOLERANCE = 0.001


class Moment(NamedTuple):
    """When something was recorded: between two looks at the stopwatch, however long that takes."""

    before_s: float
    after_s: float


class Known(NamedTuple):
    """A time by the stopwatch: what lies between two moments, or a sum of such."""

    least_s: float
    most_s: float

    @classmethod
    def between(cls, start: Moment, end: Moment) -> "Known":
        return cls(max(end.before_s - start.after_s, 0.0), end.after_s - start.before_s)

    @classmethod
    def sum_of(cls, known: Iterable["Known"]) -> "Known":
        least, most = zip(*known, strict=True)
        return cls(sum(least), sum(most))

    def without(self, part: "Known") -> "Known":
        return Known(max(self.least_s - part.most_s, 0.0), self.most_s - part.least_s)

    def holds(self, seconds: float | None) -> bool:
        return seconds is not None and self.least_s * (1 - TOLERANCE) <= seconds <= self.most_s * (1 + TOLERANCE)


class Watched:
    """A sample by the stopwatch."""

    def __init__(self) -> None:
        self.parts: list[tuple[Moment, Moment]] = []

    @contextmanager
    def operation(self, name: str) -> Iterator[None]:
        """An operation of the sample; those that enclose no other are noted first."""
        start = time.perf_counter()
        with rlscope.operation(name):
            begin = Moment(start, time.perf_counter())
            yield
            inside = time.perf_counter()
        self.parts.append((begin, Moment(inside, time.perf_counter())))

    def report(self, name: str, version: int, tokens: int, discarded: bool = False) -> None:
        before = time.perf_counter()
        rlscope.report_sample(name, version=version, tokens=tokens, discarded=discarded)
        self.end = Moment(before, time.perf_counter())

    @property
    def elapsed(self) -> Known:
        return Known.between(min(begin for begin, _ in self.parts), self.end)

    def queue(self, *leaves: tuple[Moment, Moment]) -> Known:
        return self.elapsed.without(Known.sum_of(Known.between(*leaf) for leaf in leaves))


async def turn(watched: Watched, operation: str, seconds: float) -> None:
    """A coroutine of its own, whose operation belongs to the sample that awaits it."""
    with watched.operation(operation):
        await asyncio.sleep(seconds)


def score(watched: Watched) -> None:
    """A function without a coroutine: its operation is a part of the sample too."""
    with watched.operation("reward"):
        until = time.perf_counter() + 0.01
        while time.perf_counter() < until:
            pass


async def rollout(number: int, slots: asyncio.Semaphore, watched: Watched) -> None:
    with watched.operation("rollout"):
        async with slots:
            await turn(watched, "generate", 0.12 + 0.03 * number)
            await turn(watched, "tool_call", 0.05)
            score(watched)
        watched.report("math", version=number // 4, tokens=100 + number, discarded=number == 3)


async def iteration(samples: Sequence[Watched]) -> None:
    slots = asyncio.Semaphore(6)
    await asyncio.gather(*(rollout(number, slots, watched) for number, watched in enumerate(samples)))


def analyzed(trace: Path) -> Analysis:
    return analyze(open_trace(trace))


def test_an_agent_loop_is_as_its_stopwatch_says(tmp_path: Path) -> None:
    samples = [Watched() for _ in range(12)]
    with rlscope.profile(tmp_path / "trace"):
        rlscope.report_progress(timesteps=0)
        asyncio.run(iteration(samples))
        rlscope.report_progress(timesteps=1)
    analysis = analyzed(tmp_path / "trace")
    (row,) = analysis.samples
    assert (row.name, row.count, row.discarded, row.timed) == ("math", 12, 1, 12)
    assert (row.tokens, row.discarded_tokens) == (12 * 100 + 66, 103)
    assert (row.oldest_version, row.newest_version) == (0, 2)
    assert Known.sum_of(sample.elapsed for sample in samples).holds(row.elapsed_s)
    longest = Known(*(max(bound) for bound in zip(*(sample.elapsed for sample in samples), strict=True)))
    assert longest.holds(row.elapsed_max_s)
    assert Known.sum_of(sample.queue(*sample.parts[:3]) for sample in samples).holds(row.queue_s)
    (tail,) = analysis.sample_tails
    assert (tail.iteration, tail.samples, tail.idle_s) == (0, 12, None)
    before_s, after_s = (sorted(bound) for bound in zip(*(sample.end for sample in samples), strict=True))
    eleventh, last = Moment(before_s[10], after_s[10]), Moment(before_s[11], after_s[11])
    assert Known.between(eleventh, last).holds(tail.tail_s)


def test_each_task_has_its_own_sample_again_and_again(tmp_path: Path) -> None:
    known: dict[float, list[Watched]] = {0.2: [], 0.3: []}

    async def worker(seconds: float) -> None:
        for _ in range(3):
            known[seconds].append(watched := Watched())
            await turn(watched, "generate", seconds)
            watched.report(f"{seconds}", version=0, tokens=1)
            await asyncio.sleep(0.1)  # belongs to none

    async def both() -> None:
        await asyncio.gather(worker(0.2), worker(0.3))

    with rlscope.profile(tmp_path / "trace"):
        asyncio.run(both())
    rows = {row.name: row for row in analyzed(tmp_path / "trace").samples}
    for seconds, samples in known.items():
        assert rows[f"{seconds}"].timed == 3
        assert Known.sum_of(sample.elapsed for sample in samples).holds(rows[f"{seconds}"].elapsed_s)
        assert Known.sum_of(sample.queue(*sample.parts) for sample in samples).holds(rows[f"{seconds}"].queue_s)


def test_a_thread_makes_samples_too(tmp_path: Path) -> None:
    samples = [Watched(), Watched()]

    def worker() -> None:
        rlscope.report_sample("unknown", version=0, tokens=1)
        for watched in samples:
            with watched.operation("generate"):
                time.sleep(0.2)
            watched.report("known", version=1, tokens=1)

    with rlscope.profile(tmp_path / "trace"):
        thread = threading.Thread(target=worker)
        thread.start()
        thread.join()
    known, unknown = analyzed(tmp_path / "trace").samples
    assert (known.timed, known.queue_s) == (2, 0.0)
    assert Known.sum_of(sample.elapsed for sample in samples).holds(known.elapsed_s)
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
