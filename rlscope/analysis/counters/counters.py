"""The table of hardware counters by operation, and how they were sampled."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rlscope.analysis.counters.join import CounterJoin, Sums
from rlscope.analysis.counters.launched_work import Key, launched_work
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.tables.devices import Device
from rlscope.errors import IncompleteTraceError, TraceFormatError
from rlscope.text import encodable
from rlscope.trace.counter_metrics import ACTIVE_CYCLES, Combination
from rlscope.trace.counters_file import CounterSamples, counter_files, read_counters

COUNTER_KEYS = ("process", "device", "stage", "operation")
COUNTER_COLUMNS = (
    *COUNTER_KEYS, "metric", "unit", "while_working", "while_open", "total", "busy_s", "samples",
)  # fmt: skip
_UNKNOWN = float("nan")


@dataclass(frozen=True)
class SampledDevice:
    """A device whose counters were sampled.

    Attributes:
        device: its number in the trace; None if no recorded process used it.
        uuid: as nvidia-smi writes it.
        samples: how many the trace holds.
        lost_samples: that the device took and nobody read in time; None if that is not known.
        interval_ns: the time from sample to sample that was asked for.
        unattributed_share: of all its active cycles, those in samples in which no recorded work ran: other programs'
            work, the program's own outside of the recording, and what a clock that is off misplaces. None if it was
            never active.
    """

    device: int | None
    uuid: str
    samples: int
    lost_samples: int | None
    interval_ns: int
    unattributed_share: float | None


@dataclass(frozen=True)
class CounterRuns:
    """How counters were sampled; `error` says what was not, None where nothing is known to be missing."""

    devices: tuple[SampledDevice, ...]
    error: str | None


@dataclass(frozen=True)
class Counters:
    """What counters say of a run: the table with the columns of `COUNTER_COLUMNS`; `runs` is None without counters."""

    table: pd.DataFrame
    runs: CounterRuns | None
    why: tuple[str, ...]


def counters_of(swept: TraceSweep, devices: Sequence[Device], breakdown: pd.DataFrame, recover: bool) -> Counters:
    """Joins the samples in the trace with the work of its devices.

    Args:
        swept: the trace.
        devices: those that worked for its processes.
        breakdown: the table of the analysis, for how long operations were open.
        recover: leave out files of samples that are damaged, and say so, rather than raise.

    Raises:
        TraceError: a file cannot be read.
        TraceFormatError: one is damaged, and `recover` is off.
    """
    manifest = swept.trace.manifest.get("counters")
    facts: Mapping[str, Any] = manifest if isinstance(manifest, dict) else {}
    files = counter_files(swept.trace.directory)
    if not files and manifest is None:
        return Counters(_table([]), None, ())
    by_uuid = {device.uuid: device for device in devices}
    open_s = _open_seconds(breakdown)
    why: list[str] = []
    rows: list[tuple[Any, ...]] = []
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
        _table(sorted(rows, key=lambda row: row[1])),
        CounterRuns(tuple(sampled), encodable(error) if isinstance(error, str) else None),
        tuple(why),
    )


def _table(rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=list(COUNTER_COLUMNS))
    numbers = dict.fromkeys(("while_working", "while_open", "total", "busy_s"), float)
    return table.astype({"device": int, "samples": int} | numbers)


def _rows(device: int, sums: Sums, open_s: float) -> Iterator[tuple[Any, ...]]:
    """One per metric."""
    for metric, amount, weight in sums.values:
        name, unit = encodable(metric.name), encodable(metric.unit)
        match metric.combination:
            case Combination.AMOUNT:
                values = _UNKNOWN, _UNKNOWN, amount
            case Combination.RATE:
                values = _quotient(amount, sums.busy_s), _quotient(amount, open_s), _UNKNOWN
            case Combination.RATIO:
                values = _quotient(amount, weight), _UNKNOWN, _UNKNOWN
        process, stage, operation = sums.key
        yield (process, device, stage, operation, name, unit, *values, sums.busy_s, sums.samples)


def _quotient(amount: float, by: float) -> float:
    return amount / by if by else _UNKNOWN


def _samples(path: Path, recover: bool, why: list[str]) -> CounterSamples | None:
    """None for a file that cannot be used; `why` then says it, as where the end is missing."""
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


def _lost(facts: Mapping[str, Any], uuid: str) -> int | None:
    """What the manifest says of a device; it may hold anything."""
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


def _open_seconds(breakdown: pd.DataFrame) -> dict[Key, float]:
    """How long each operation was open, each stage, and each process recorded."""
    seconds: dict[Key, float] = {}
    sums = breakdown.groupby(["process", "stage", "operation"])["seconds"].sum()
    for (process, stage, operation), of_operation in sums.items():
        for key in ((process, stage, operation), (process, stage, ""), (process, "", "")):
            seconds[key] = seconds.get(key, 0.0) + float(of_operation)
    return seconds


def counter_label(metric: str, unit: str) -> str:
    """What stands over values of a counter: its name, with the unit where that does not say it."""
    return metric if unit in metric else f"{metric} ({unit})"


def counter_values(counters: pd.DataFrame) -> pd.Series:
    """Of each row of the table the value to show if it is to be one: while work ran, of amounts the total."""
    return counters["while_working"].fillna(counters["total"])
