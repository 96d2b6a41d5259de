"""This file writes and reads the samples of hardware counters in a trace, one file per device."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import ipc

from rlscope.errors import IncompleteTraceError, TraceError, TraceFormatError, UsageError
from rlscope.trace.counter_metrics import ACTIVE_CYCLES, CounterMetric, counter_metric, sampled_metrics
from rlscope.trace.files import read_regular

#: Samples are read as a whole, and then are there twice.
MOST_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
#: What a file that was closed ends with.
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
TIMES = ("start_ns", "end_ns")
LEAST_INTERVAL_NS = 1000
#: Between the least and the most by which a device's clock may be ahead as sampling begins: starting takes no longer.
MOST_UNCERTAINTY_NS = 10_000_000_000
LIMIT_NS = 1 << 62
#: Of a counter in a sample.
LIMIT = float(1 << 62)

Times = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CounterSamples:
    """This is what was sampled of one device. The k-th sample is `start_ns[k]`, `end_ns[k]` and the k-th value of
    each column.

    Attributes:
        uuid: of the device, as nvidia-smi writes it.
        interval_ns: the time from sample to sample that was asked for.
        metrics: what was asked for.
        offset_low_ns: the device's clock is at least so far ahead of CLOCK_MONOTONIC as sampling begins.
        offset_high_ns: and at most so far.
        start_ns: by the device's clock, in order.
        end_ns: the next sample starts there, unless samples were lost.
        columns: the values by NVIDIA's name of the metric.
        is_cut_off: the file does not end in an orderly way, so samples may be missing at its end.
    """

    uuid: str
    interval_ns: int
    metrics: tuple[CounterMetric, ...]
    offset_low_ns: int
    offset_high_ns: int
    start_ns: Times
    end_ns: Times
    columns: dict[str, Values]
    is_cut_off: bool


class CounterWriter:
    """Writes the samples of one device; what `append` was given is in the file when it returns."""

    def __init__(
        self,
        path: Path,
        *,
        uuid: str,
        name: str,
        chip: str,
        interval_ns: int,
        metrics: tuple[CounterMetric, ...],
        offset_low_ns: int,
        offset_high_ns: int,
    ) -> None:
        """Make the file, which there must not be yet.

        Args:
            path: what `counters_path` says of the trace and the device.
            uuid: of the device, as nvidia-smi writes it.
            name: the model.
            chip: NVIDIA's name of the chip, such as GH100.
            interval_ns: the time from sample to sample that was asked for.
            metrics: what was asked for; `sampled_metrics` of them are the columns.
            offset_low_ns: the least by which the device's clock may be ahead of CLOCK_MONOTONIC.
            offset_high_ns: the most.

        Raises:
            OSError: the file cannot be made.
        """
        facts = {
            "uuid": uuid,
            "name": name,
            "chip": chip,
            "interval_ns": str(interval_ns),
            "metrics": json.dumps([asdict(metric) for metric in metrics]),
            "offset_low_ns": str(offset_low_ns),
            "offset_high_ns": str(offset_high_ns),
        }
        self._columns = sampled_metrics(metrics)
        fields = [*((name, pa.int64()) for name in TIMES), *((name, pa.float64()) for name in self._columns)]
        self._schema = pa.schema(fields, metadata=facts)
        self._file = path.open("xb")
        self._batches = ipc.new_stream(self._file, self._schema)
        self.append([], [], {column: [] for column in self._columns})  # the schema is written with the first batch

    def append(
        self,
        start_ns: Sequence[int] | Times,
        end_ns: Sequence[int] | Times,
        columns: Mapping[str, Sequence[float] | Values],
    ) -> None:
        """Add samples, in order of time.

        Args:
            start_ns: by the device's clock.
            end_ns: of the same samples.
            columns: their values by NVIDIA's name of the metric.

        Raises:
            OSError: the file cannot be written.
        """
        times = [pa.array(np.asarray(values, dtype=np.int64)) for values in (start_ns, end_ns)]
        values = [pa.array(np.asarray(columns[name], dtype=np.float64)) for name in self._columns]
        self._batches.write_batch(pa.record_batch([*times, *values], schema=self._schema))
        self._file.flush()

    def close(self) -> None:
        """End the file in an orderly way."""
        self._batches.close()
        self._file.close()


def read_counters(path: Path) -> CounterSamples:
    """Return the samples of one device. Of a file that a kill cut off, those that are whole.

    Raises:
        TraceError: the file cannot be read.
        IncompleteTraceError: it was cut off before its first sample.
        TraceFormatError: it is damaged, or larger than this machine can read.
    """
    try:
        data = read_regular(path, MOST_BYTES)
    except OSError as error:
        raise TraceError(f"the samples of counters could not be read: {error}; make the file readable") from error
    if not data:
        raise IncompleteTraceError(f"{path} is empty: sampling was killed as it began, record the run again")
    is_cut_off = not data.endswith(END_OF_STREAM)
    schema, batches = _read_batches(path, data, is_cut_off)
    try:
        return _samples(schema, batches, is_cut_off)
    except (KeyError, TypeError, ValueError, RecursionError) as error:  # ValueError is also what Arrow's errors are
        raise _damage(path, str(error) if not isinstance(error, KeyError) else f"there is no {error}") from error


def _read_batches(path: Path, data: bytes, is_cut_off: bool) -> tuple[pa.Schema, list[pa.RecordBatch]]:
    batches: list[pa.RecordBatch] = []
    try:
        reader = ipc.open_stream(data)
    except (pa.ArrowException, OSError) as error:
        raise _damage(path, str(error)) from error
    try:
        for batch in reader:
            batch.validate(full=True)
            batches.append(batch)
    except (pa.ArrowException, OSError) as error:
        if not is_cut_off:
            raise _damage(path, str(error)) from error
    return reader.schema, batches


def _samples(schema: pa.Schema, batches: list[pa.RecordBatch], is_cut_off: bool) -> CounterSamples:
    facts = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    metrics = tuple(_metric(entry) for entry in json.loads(facts["metrics"]))
    if len({metric.name for metric in metrics}) < len(metrics):
        raise ValueError("a metric is there twice")
    kinds = dict.fromkeys(TIMES, pa.int64()) | dict.fromkeys(sampled_metrics(metrics), pa.float64())
    for name, kind in kinds.items():
        if schema.field(name).type != kind:
            raise ValueError(f"column {name} is of {schema.field(name).type}, expected {kind}")
    table = pa.Table.from_batches(batches, schema).select(list(kinds))
    if any(column.null_count for column in table.columns):
        raise ValueError("values are missing")
    start_ns, end_ns, *values = (column.to_numpy() for column in table.columns)
    if np.any(start_ns >= end_ns) or np.any(end_ns[:-1] > start_ns[1:]):
        raise ValueError("samples do not follow each other in time")
    if len(start_ns) and not (start_ns[0] >= 0 and end_ns[-1] < LIMIT_NS):
        raise ValueError("samples have times that no clock shows")
    columns = dict(zip(list(kinds)[len(TIMES) :], values, strict=True))
    for name in (ACTIVE_CYCLES, *(metric.weight for metric in metrics if metric.weight is not None)):
        if not np.all((columns[name] >= 0) & (columns[name] < LIMIT)):
            raise ValueError(f"{name} has values that no counter shows")
    ratios = [(columns[metric.metric], columns[metric.weight]) for metric in metrics if metric.weight is not None]
    if any(np.any(np.isnan(ratio[cycles > 0])) for ratio, cycles in ratios) or any(  # that of no cycles need not be one
        np.any(np.abs(column) >= LIMIT) for column in columns.values()
    ):
        raise ValueError("there are values that no counter shows")
    interval_ns, low_ns, high_ns = (int(facts[key]) for key in ("interval_ns", "offset_low_ns", "offset_high_ns"))
    if not (interval_ns >= LEAST_INTERVAL_NS and -LIMIT_NS < low_ns <= high_ns < LIMIT_NS):
        raise ValueError(f"samples every {interval_ns} ns by a clock that is {low_ns} to {high_ns} ns ahead cannot be")
    if high_ns - low_ns > MOST_UNCERTAINTY_NS:
        raise ValueError(f"the clock is {low_ns} to {high_ns} ns ahead, which says nothing")
    return CounterSamples(
        uuid=facts["uuid"],
        interval_ns=interval_ns,
        metrics=metrics,
        offset_low_ns=low_ns,
        offset_high_ns=high_ns,
        start_ns=start_ns,
        end_ns=end_ns,
        columns=columns,
        is_cut_off=is_cut_off,
    )


def _metric(entry: Any) -> CounterMetric:
    """Return a metric as `CounterWriter` wrote it; a file may hold anything."""
    name, metric, weight = entry["name"], entry["metric"], entry["weight"]
    if not (isinstance(name, str) and isinstance(metric, str) and isinstance(weight, str | None)):
        raise TypeError(f"no metric: {entry!r}")
    found = CounterMetric(name, metric, weight)
    try:
        expected = counter_metric(name)
    except UsageError as error:
        raise ValueError(str(error)) from error
    if found != expected:
        raise ValueError(f"a metric is {found}, expected {expected}")
    return found


def _damage(path: Path, what: str) -> TraceFormatError:
    line = " ".join(what.split())[:200]
    return TraceFormatError(
        f"samples of hardware counters were expected in {path}, but it is damaged: {line}; go on without the file with "
        "--recover, or record the run again"
    )
