"""This file makes tables of recorded self-play's processes, which machines without that device can read."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.harness.execute import LOG, Execution, read_manifest
from experiments.harness.progress import StudyRun
from experiments.harness.workload_output import figures_in
from experiments.verdicts.other_machines import MeasuredTables, joined, load_tables
from rlscope.analysis.analysis import analyze
from rlscope.analysis.utilization import PROCESSES, read_utilization, utilization_in_parts
from rlscope.trace.reader import Trace, open_trace

#: Who evaluated positions, and which repetition: the first columns of every table.
KEY = ["inference", "repetition"]
RUN_COLUMNS = ["workers", "games", "moves", "moves_per_second", "evaluations_per_second", "mean_batch"]
EDGE = ["process", "phase", "on"]
#: Parts of a run's time, for the utilization of processor cores.
PARTS = 200


@dataclass(frozen=True)
class Tables:
    """This is what is known of recorded self-play; the rows of a run begin with KEY.

    Attributes:
        runs: what the workload printed: RUN_COLUMNS.
        phases: as in an analysis.
        dependencies: likewise; channels between two processes are summed up.
        utilization: of all processor cores by the processes: `start_s`, `end_s`, `utilization` (0 to 1).
        device_timeline: as in an analysis.
    """

    runs: pd.DataFrame
    phases: pd.DataFrame
    dependencies: pd.DataFrame
    utilization: pd.DataFrame
    device_timeline: pd.DataFrame

    def of_each_run(self) -> Iterator[tuple[str, "Tables"]]:
        """Yield every run by itself, with who evaluated positions in it."""
        for inference, repetition in self.runs[KEY].itertuples(index=False):
            parts = {
                name: table[(table["inference"] == inference) & (table["repetition"] == repetition)]
                for name, table in vars(self).items()
            }
            yield str(inference), Tables(**parts)


class Measurements(MeasuredTables[Tables]):
    """The tables of a machine, and where they come from."""


def load(directory: Path) -> Measurements:
    """Return what `Measurements.save` has written.

    Raises:
        UsageError: It is damaged.
    """
    return load_tables(directory, Measurements, Tables, _check)


def _check(name: str, columns: list[str]) -> None:
    if columns[: len(KEY)] != KEY:
        raise ValueError(f"{name}.csv does not begin with the columns {', '.join(KEY)}")


def tables_of(executed: Iterable[tuple[StudyRun, Execution]]) -> Tables:
    """Analyze recorded self-play.

    Raises:
        IncompleteTraceError: A run has left no line about itself.
    """
    return joined(Tables, [tables_of_run(study_run, execution) for study_run, execution in executed])


def tables_of_run(study_run: StudyRun, execution: Execution) -> dict[str, pd.DataFrame]:
    """Return the tables of one run, by name."""
    trace = open_trace(execution.trace)
    analysis = analyze(trace)
    figures = figures_in(execution.trace.parent / LOG, execution.run.script.name)
    ends_s = max(row.end_s for row in analysis.processes)
    dependencies = analysis.dependencies.table.groupby(EDGE, sort=False, as_index=False)
    tables = {
        "runs": pd.DataFrame([{name: figures[name] for name in RUN_COLUMNS}]),
        "phases": analysis.phases.table,
        "dependencies": dependencies[["count", "wait_s"]].sum(),
        "utilization": cores_in_use(trace, ends_s, cores_of(execution)),
        "device_timeline": analysis.device_timeline.table,
    }
    about = dict(zip(KEY, (study_run.workload.name, study_run.repetition), strict=True))
    return {name: with_key(table, about) for name, table in tables.items()}


def with_key(table: pd.DataFrame, about: Mapping[str, object]) -> pd.DataFrame:
    """Return the table with columns in front that say whose rows they are."""
    found = table.assign(**about)
    return found[[*KEY, *table.columns]]


def cores_of(execution: Execution) -> int:
    """Return how many processor cores the run's machine has."""
    cores: int = read_manifest(execution.trace.parent)["machine"]["cores"]
    return cores


def cores_in_use(trace: Trace, ends_s: float, cores: int) -> pd.DataFrame:
    """Return the share of the machine's cores that the processes kept busy, in parts of the run; NaN without a
    sample.
    """
    first = trace.processes[0]
    starts_ns = first.clock.monotonic_ns(first.header.start_ticks)
    borders_s = np.linspace(0, ends_s, PARTS + 1)
    borders_ns = starts_ns + (1e9 * borders_s).astype(np.int64)
    found = utilization_in_parts(read_utilization(trace.directory), borders_ns).get(PROCESSES)
    busy = np.full(PARTS, np.nan) if found is None else np.minimum(found / cores, 1)
    return pd.DataFrame({"start_s": borders_s[:-1], "end_s": borders_s[1:], "utilization": busy})
