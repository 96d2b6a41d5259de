"""This file makes the tables of devices: how long they worked, who had and awaited them, why they did nothing."""

from collections.abc import Sequence

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.counters.runs import counter_label
from rlscope.analysis.lines.tables import SyncPointRow
from rlscope.analysis.rows import Record, sums
from rlscope.analysis.table_rows import CounterRow
from rlscope.report.tables import where_text
from rlscope.text import line_text
from rlscope.text.numbers import prefixed

ALL_PROCESSES = "(all)"


def shares_shown(analysis: Analysis) -> list[Record]:
    """Return the rows of devices that several processes used."""
    return [row.record() | {"process": row.process or ALL_PROCESSES} for row in analysis.device_shares]


def sync_points_shown(analysis: Analysis) -> list[Record]:
    """Return the rows of `Analysis.sync_points`, the longest first, with their lines where any is known."""
    rows = sorted(analysis.sync_points, key=lambda row: -row.seconds)
    has_lines = any(row.stacks for row in rows)
    return [
        {
            "process": row.process,
            "where": where_text(row.stage, row.operation),
            "function": row.function or row.wait,
            "count": row.count,
            "per_iteration": row.per_iteration,
            "seconds": row.seconds,
            **(_line_of(row) if has_lines else {}),
        }
        for row in rows
    ]


def launches_shown(analysis: Analysis) -> list[Record]:
    """Return the rows of `Analysis.launches` with their means in microseconds."""
    return [
        {
            "process": row.process,
            "where": where_text(row.stage, row.operation),
            "launches": row.launches,
            "kernel_us": 1e6 * row.kernel_s,
            "gap_us": 1e6 * row.gap_s,
            "graph_saves_s": row.graph_saves_s,
        }
        for row in analysis.launches
    ]


def _line_of(row: SyncPointRow) -> Record:
    """Return the line, and `9 of 10` if 9 of 10 stacks were of it."""
    if not row.stacks:
        return {"line": "", "stacks": ""}
    return {"line": line_text(row.file, row.line), "stacks": f"{row.line_stacks} of {row.stacks}"}


def idle_shown(analysis: Analysis) -> list[Record]:
    """Return one row per device and cause, the longest first, with the operation that most of it was in."""
    seconds = sums(((row.device, row.cause), row.seconds) for row in analysis.device_idle)
    of_operations = sums(((row.device, row.cause, row.operation), row.seconds) for row in analysis.device_idle)
    whole_s = sums((row.device, row.seconds) for row in analysis.device_idle)
    mostly: dict[tuple[int, str], str] = {}
    for device, cause, operation in sorted(of_operations, key=lambda key: (-of_operations[key], key)):
        mostly.setdefault((device, cause), operation)
    return [
        {
            "device": device,
            "cause": cause,
            "seconds": found,
            "percent": 100 * found / whole_s[device] if whole_s[device] else None,
            "mostly in": mostly[device, cause],
        }
        for (device, cause), found in sorted(seconds.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    ]


def gpus_shown(analysis: Analysis) -> list[Record]:
    """Return how long each device worked, in seconds and percent of the run, and what the machine reported of it."""
    run_s = max(row.end_s for row in analysis.processes)
    communicates = any(row.communication_s for row in analysis.gpu)
    return [
        {
            "device": row.device,
            "name": row.name,
            "busy_s": row.busy_s,
            **({"only_communicating_s": row.exposed_s} if communicates else {}),
            "kernel_s": row.kernel_s,
            "busy_percent": 100 * row.busy_s / run_s if run_s else None,
            "reported_percent": None if row.reported_utilization is None else 100 * row.reported_utilization,
        }
        for row in analysis.gpu
    ]


def operations_on_gpus(analysis: Analysis) -> list[Record]:
    """Return `gpu_operations`, without a column on communication where there is none."""
    left_out = "" if any(row.communication_s for row in analysis.gpu) else "exposed_s"
    return [
        {name: value for name, value in row.items() if name != left_out} for row in analysis.gpu_operations.records()
    ]


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
                "stage": row.stage or ALL_PROCESSES,
                "operation": row.operation or ALL_PROCESSES,
                **dict.fromkeys(labels),
            },
        )
        value = row.value
        cells[counter_label(row.metric, row.unit)] = None if value is None else prefixed(value)
    return list(shown.values())
