"""This file makes the tables of samples: what rollouts made, how long it took, how long the last ones kept the rest."""

from collections.abc import Iterable
from dataclasses import dataclass

from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.swept import SweptSample
from rlscope.analysis.table_rows import ProcessRow
from rlscope.model import INFERENCE, NS_PER_S


class SampleRow(Row):
    """The samples that a process reported under one name.

    Attributes:
        process: The process.
        name: The name.
        count: How many there were.
        discarded: How many of them were discarded.
        tokens: The tokens of all.
        discarded_tokens: Those of the discarded ones.
        oldest_version: The oldest version of the policy that made one.
        newest_version: The newest.
        staleness_mean: How far the newest version reported so far was ahead of a sample's own, on average.
        staleness_max: The maximum.
        timed: Of how many samples it is known when they were begun; the times that follow are of these.
        elapsed_s: The time from begin to report, summed.
        elapsed_p50_s: The median, rounded down by less than 1 %.
        elapsed_p99_s: The 99th percentile, rounded down in the same way.
        elapsed_max_s: The maximum.
        queue_s: Of the samples of tasks, the time in which these were in no operation that encloses no other, summed.
        discarded_device_s: Seconds of devices that the process spent on inference, times the share of its tokens that
            are discarded ones of this name; None without work of devices in inference.
    """

    process: str
    name: str
    count: int
    discarded: int
    tokens: int
    discarded_tokens: int
    oldest_version: int
    newest_version: int
    staleness_mean: float
    staleness_max: int
    timed: int
    elapsed_s: float
    elapsed_p50_s: float | None
    elapsed_p99_s: float | None
    elapsed_max_s: float | None
    queue_s: float
    discarded_device_s: float | None


class SampleTailRow(Row):
    """The time from when 90 % of the samples of an iteration were complete until all were.

    Attributes:
        process: The process.
        iteration: The number of the iteration, as in `iteration_times`; None before the first report of progress.
        samples: How many samples were complete in it.
        start_s: When 90 % of them were: from the start of the run's first process.
        tail_s: How long it took from then to the last one.
        idle_s: In which no device worked for the process; None if none ever did.
    """

    process: str
    iteration: int | None
    samples: int
    start_s: float
    tail_s: float
    idle_s: float | None


@dataclass(frozen=True)
class TokenRates:
    """The tokens per second that rollouts made and that training got, all over the wall time, as in `Analysis`."""

    tokens: int | None = None
    tokens_per_s: float | None = None
    trained_tokens_per_s: float | None = None


def sample_rows(swept: TraceSweep) -> Rows[SampleRow]:
    """Make one row per process and name under which it reported samples."""
    rows = []
    for process in swept.processes:
        on_device_ns = [
            process.length_ns(row.busy_ticks) for row in process.found.device_operations if row.stage == INFERENCE
        ]
        tokens = sum(row.tokens for row in process.found.samples)
        per_token_s = sum(on_device_ns) / NS_PER_S / tokens if on_device_ns and tokens else None
        rows += [_row(process, row, per_token_s) for row in process.found.samples]
    return Rows(SampleRow, rows)


def _row(process: ProcessSweep, row: SweptSample, per_token_s: float | None) -> SampleRow:
    def seconds(ticks: int) -> float:
        return process.length_ns(ticks) / NS_PER_S

    lengths = [seconds(ticks) for ticks in (row.median_ticks, row.p99_ticks, row.longest_ticks)]
    median_s, p99_s, longest_s = lengths if row.timed else [None] * 3
    return SampleRow(
        process=process.name,
        name=row.name,
        count=row.complete,
        discarded=row.discarded,
        tokens=row.tokens,
        discarded_tokens=row.discarded_tokens,
        oldest_version=row.oldest_version,
        newest_version=row.newest_version,
        staleness_mean=row.staleness / row.complete,
        staleness_max=row.most_staleness,
        timed=row.timed,
        elapsed_s=seconds(row.elapsed_ticks),
        elapsed_p50_s=median_s,
        elapsed_p99_s=p99_s,
        elapsed_max_s=longest_s,
        queue_s=seconds(row.queue_ticks),
        discarded_device_s=None if per_token_s is None else per_token_s * row.discarded_tokens,
    )


def tail_rows(swept: TraceSweep) -> Rows[SampleTailRow]:
    """Make one row per process and iteration in which samples were complete."""
    origin_ns = min(process.start_ns for process in swept.processes)
    rows = []
    for process in swept.processes:
        for tail in process.found.sample_tails:
            start_ns = process.file.clock.realtime_ns(tail.start_ticks)
            length_ticks = tail.end_ticks - tail.start_ticks
            idle_ns = process.length_ns(length_ticks - tail.worked_ticks) if process.found.devices else None
            rows.append(
                SampleTailRow(
                    process=process.name,
                    iteration=tail.reports - 1 if tail.reports else None,
                    samples=tail.samples,
                    start_s=(start_ns - origin_ns) / NS_PER_S,
                    tail_s=process.length_ns(length_ticks) / NS_PER_S,
                    idle_s=None if idle_ns is None else idle_ns / NS_PER_S,
                )
            )
    return Rows(SampleTailRow, rows)


def token_rates(samples: Iterable[SampleRow], processes: Iterable[ProcessRow]) -> TokenRates:
    """Return the tokens of all samples over the wall time of the run."""
    rows = [*samples]
    wall_s = max(row.end_s for row in processes)
    if not rows or not wall_s:
        return TokenRates()
    tokens = sum(row.tokens for row in rows)
    kept = tokens - sum(row.discarded_tokens for row in rows)
    return TokenRates(tokens, tokens / wall_s, kept / wall_s)
