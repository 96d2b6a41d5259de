"""This file makes a table of recorded kernels of known length, which machines without that device can read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.harness.execute import LOG, Execution
from experiments.harness.progress import StudyRun
from experiments.harness.workload_output import figures_in
from experiments.verdicts.other_machines import MeasuredTables, exactly, load_tables
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.utilization import mean_utilization
from rlscope.errors import IncompleteTraceError
from rlscope.trace.reader import open_trace

COLUMNS = [
    "repetition", "operation", "kernel_us", "gap_us", "launches", "seconds", "mean_kernel_us", "reported", "busy",
    "sm_efficiency", "achieved_occupancy",
]  # fmt: skip
#: Of the device, each with the column of an analysis: of all its time, or of that in which kernels ran.
COUNTERS = {"sm_efficiency": "while_open", "achieved_occupancy": "while_working"}
#: Of each operation, what is over before its reported utilisation counts: drivers report the time that has just passed.
SETTLING = 0.5


@dataclass(frozen=True)
class Tables:
    """This is what is known of kernels of known length.

    Attributes:
        points: one row per `repetition` and `operation`: `kernel_us` and `gap_us` as asked for (`kernel_us` is NaN of
            the wide kernel); `launches` in so many `seconds`; `mean_kernel_us`, how long a kernel really took;
            `reported` utilisation and the share in which the device was truly `busy`, both 0 to 1; `sm_efficiency`
            over all of its time and `achieved_occupancy` while its kernels ran, both in percent, NaN without counters.
    """

    points: pd.DataFrame


class Measurements(MeasuredTables[Tables]):
    """The points of a machine, and where they come from."""


def load(directory: Path) -> Measurements:
    """Return what `Measurements.save` has written.

    Raises:
        UsageError: It is damaged.
    """
    return load_tables(directory, Measurements, Tables, exactly((), {"points": COLUMNS}))


def points_of(executed: Iterable[tuple[StudyRun, Execution]]) -> pd.DataFrame:
    """Return the points of recorded runs.

    Raises:
        IncompleteTraceError: A run has left no line about itself, or no work on one device.
    """
    rows = [row for study_run, execution in executed for row in points_of_run(study_run.repetition, execution)]
    return pd.DataFrame(rows, columns=COLUMNS)


def points_of_run(repetition: int, execution: Execution) -> list[dict[str, Any]]:
    """Return the points of one run: what the workload printed of each, beside what was recorded of it."""
    of_workload = figures_in(execution.trace.parent / LOG, execution.run.script.name)
    analysis = analyze(open_trace(execution.trace))
    uuid = uuid_of(analysis)
    busy_s = analysis.gpu_operations.table.groupby("operation")["busy_s"].sum()
    counters = counters_of(analysis.counters.records())
    rows = []
    for point in of_workload["points"]:
        start_ns, end_ns = point["start_ns"], point["end_ns"]
        seconds = (end_ns - start_ns) / 1e9
        settled_ns = round(start_ns + SETTLING * (end_ns - start_ns))
        busy = float(busy_s.get(point["operation"], 0.0))
        rows.append(
            {
                "repetition": repetition,
                "operation": point["operation"],
                "kernel_us": point["kernel_us"],
                "gap_us": point["gap_us"],
                "launches": point["launches"],
                "seconds": seconds,
                "mean_kernel_us": 1e6 * busy / point["launches"],
                "reported": mean_utilization(analysis.utilization.samples, settled_ns, end_ns).get(uuid),
                "busy": busy / seconds,
                **{name: counters.get((point["operation"], name)) for name in COUNTERS},
            }
        )
    return rows


def uuid_of(analysis: Analysis) -> str:
    """Return the UUID of the one device that worked."""
    uuids = [row.uuid for row in analysis.gpu]
    if len(uuids) != 1 or not uuids[0]:
        raise IncompleteTraceError(
            f"{analysis.directory}: expected work on one device whose uuid is known, found {len(uuids)} devices. "
            "Look at it with `rlscope inspect`, and whether CUPTI can be used with `rlscope doctor`"
        )
    return str(uuids[0])


def counters_of(records: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], float | None]:
    """Return what claims need of the table `counters` of an analysis, by operation and counter; nothing where it is
    empty.
    """
    return {
        (record["operation"], record["metric"]): record[COUNTERS[record["metric"]]]
        for record in records
        if record["process"] and record["metric"] in COUNTERS
    }
