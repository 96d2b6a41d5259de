"""This module says what `inspect`, `analyze` and `report` say of hardware counters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.counters.runs import SampledDevice, counter_label
from rlscope.analysis.rows import Record
from rlscope.analysis.table_rows import CounterRow
from rlscope.errors import RLScopeError
from rlscope.record.config import RecordConfig
from rlscope.text.numbers import duration, percent, prefixed
from rlscope.trace.counter_paths import counter_files

NOT_COMPARABLE = "a run with counters: its times are not for comparison with others"
ALL = "(all)"


def counter_lines(analysis: Analysis) -> list[str]:
    """Return what a reader must know of the sampling; nothing of a run without counters."""
    if analysis.counter_runs is None:
        return []
    lines = [NOT_COMPARABLE, *(_device_line(device) for device in analysis.counter_runs.devices)]
    if analysis.counter_runs.error is not None:
        lines.append(f"counters were not all sampled: {analysis.counter_runs.error}")
    return lines


def _device_line(device: SampledDevice) -> str:
    named = f"GPU {device.device}" if device.device is not None else f"{device.uuid}, which no recorded process used"
    lost = "" if device.lost_samples is None else f", {device.lost_samples:,} lost"
    line = f"counters of {named}: {device.samples:,} samples, one in {duration(device.interval_ns / 1e9)}{lost}"
    if device.unattributed_share is None:
        return f"{line}; it was never active"
    return f"{line}; {percent(device.unattributed_share)} of its active cycles were while no recorded work ran"


def inspect_lines(directory: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return which counters were sampled, and how much; nothing of a run without."""
    try:
        names = RecordConfig.load(directory).counters
    except (OSError, RLScopeError, ValueError, TypeError, KeyError, RecursionError):  # the trace is shown all the same
        names = ()
    facts = manifest.get("counters")
    files = counter_files(directory)
    if not names and facts is None and not files:
        return []
    listed = facts.get("devices") if isinstance(facts, dict) else None
    devices = [device for device in listed if isinstance(device, dict)] if isinstance(listed, list) else []
    counts = [
        f"{device.get('uuid')} {device.get('samples')} samples, {device.get('lost_samples')} lost" for device in devices
    ]
    sampled = "; ".join(counts) or f"samples of {len(files)} devices"
    lines = [f"counters: {', '.join([*map(str, names)]) or 'unknown'}; {sampled}; {NOT_COMPARABLE}"]
    if isinstance(facts, dict) and isinstance(facts.get("error"), str):
        lines.append(f"counters were not all sampled: {facts['error']}")
    return lines


def counters_shown(counters: Sequence[CounterRow]) -> list[Record]:
    """Make one column per counter: its value while work ran, of amounts the total. Several operations are `(all)`."""
    labels = dict.fromkeys(counter_label(row.metric, row.unit) for row in counters)
    shown: dict[tuple[str, int, str, str], Record] = {}
    for row in counters:
        cells = shown.setdefault(
            (row.process, row.device, row.stage, row.operation),
            {
                "process": row.process,
                "device": row.device,
                "stage": row.stage or ALL,
                "operation": row.operation or ALL,
                **dict.fromkeys(labels),
            },
        )
        value = row.value
        cells[counter_label(row.metric, row.unit)] = None if value is None else prefixed(value)
    return list(shown.values())
