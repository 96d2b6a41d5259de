"""This file makes the rows of hardware counters by operation, and says how they were sampled."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rlscope.analysis.counters.join import CounterJoin, Sums
from rlscope.analysis.counters.launched_work import Key, launched_work
from rlscope.analysis.counters.runs import CounterRuns, Counters, SampledDevice
from rlscope.analysis.devices.devices import Device
from rlscope.analysis.rows import Rows
from rlscope.analysis.rows import sums as totals
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.table_rows import BreakdownRow, CounterRow
from rlscope.errors import IncompleteTraceError, TraceFormatError
from rlscope.text import encodable
from rlscope.trace.counter_metrics import ACTIVE_CYCLES, Combination
from rlscope.trace.counters_file import CounterSamples, read_counters
from rlscope.trace.reader import counter_files


def counters_of(
    swept: TraceSweep, devices: Sequence[Device], breakdown: Sequence[BreakdownRow], recover: bool
) -> Counters:
    """Join the samples in the trace with the work of its devices.

    Args:
        swept: the trace.
        devices: those that worked for its processes.
        breakdown: the rows of the analysis, for how long operations were open.
        recover: leave out files of samples that are damaged, and say so, rather than raise.

    Raises:
        TraceError: a file cannot be read.
        TraceFormatError: one is damaged, and `recover` is off.
    """
    manifest = swept.trace.manifest.get("counters")
    facts: Mapping[str, object] = manifest if isinstance(manifest, dict) else {}
    files = counter_files(swept.trace.directory)
    by_uuid = {device.uuid: device for device in devices}
    open_s = _open_seconds(breakdown)
    why: list[str] = []
    rows: list[CounterRow] = []
    sampled: list[SampledDevice] = []
    for path in files:
        samples = _samples(path, recover, why)
        if samples is None:
            continue
        device = by_uuid.get(samples.uuid)
        join = None
        if device is not None and len(samples.start_ns):
            join = CounterJoin(samples, launched_work(device, recover))
            rows += [row for sums in join.sums() for row in _rows(device.number, sums, open_s.get(sums.key, 0.0))]
        sampled.append(
            SampledDevice(
                device=None if device is None else device.number,
                uuid=encodable(samples.uuid),
                samples=len(samples.start_ns),
                lost_samples=_lost(facts, samples.uuid),
                interval_ns=samples.interval_ns,
                unattributed_share=_unattributed_share(samples, join),
            )
        )
    error = facts.get("error")
    return Counters(
        Rows(CounterRow, sorted(rows, key=lambda row: row.device)),
        CounterRuns(tuple(sampled), encodable(error) if isinstance(error, str) else None),
        tuple(why),
    )


def _rows(device: int, sums: Sums, open_s: float) -> Iterator[CounterRow]:
    """Yield one per metric."""
    for metric, amount, weight in sums.values:
        name, unit = encodable(metric.name), encodable(metric.unit)
        values: tuple[float | None, float | None, float | None]
        match metric.combination:
            case Combination.AMOUNT:
                values = None, None, amount
            case Combination.RATE:
                values = _quotient(amount, sums.busy_s), _quotient(amount, open_s), None
            case Combination.RATIO:
                values = _quotient(amount, weight), None, None
        process, stage, operation = sums.key
        working, open_, total = values
        yield CounterRow(
            process, device, stage, operation, name, unit, working, open_, total, sums.busy_s, sums.samples
        )


def _quotient(amount: float, by: float) -> float | None:
    return amount / by if by else None


def _samples(path: Path, recover: bool, why: list[str]) -> CounterSamples | None:
    """Return None for a file that cannot be used; `why` then says it, as where the end is missing."""
    try:
        samples = read_counters(path)
    except IncompleteTraceError as error:
        why.append(str(error))
        return None
    except TraceFormatError as error:
        if not recover:
            raise
        why.append(str(error))
        return None
    if samples.is_cut_off:
        why.append(f"sampling of hardware counters was killed: samples may be missing at the end of {path.name}")
    return samples


def _lost(facts: Mapping[str, object], uuid: str) -> int | None:
    """Return what the manifest says of a device; it may hold anything."""
    listed = facts.get("devices")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and entry.get("uuid") == uuid and isinstance(entry.get("lost_samples"), int):
            return int(entry["lost_samples"])
    return None


def _unattributed_share(samples: CounterSamples, join: CounterJoin | None) -> float | None:
    active = samples.columns[ACTIVE_CYCLES]
    if not active.sum():
        return None
    return 1.0 if join is None else float(active[~join.worked].sum() / active.sum())


def _open_seconds(breakdown: Sequence[BreakdownRow]) -> dict[Key, float]:
    """Return how long each operation was open, each stage, and each process recorded."""
    of_operations = totals(((row.process, row.stage, row.operation), row.seconds) for row in breakdown)
    seconds: dict[Key, float] = {}
    for (process, stage, operation), of_operation in of_operations.items():
        for key in ((process, stage, operation), (process, stage, ""), (process, "", "")):
            seconds[key] = seconds.get(key, 0.0) + of_operation
    return seconds
