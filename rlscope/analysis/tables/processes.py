"""The processes of a trace: as a table, as a tree, and the phases of each."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rlscope.analysis.correction import CorrectedProcess, times_of
from rlscope.analysis.sweep import NS_PER_S, ProcessSweep, TraceSweep
from rlscope.model import NO_PHASE, Category, Resource
from rlscope.trace.format import EndReason

CORRECTED_WALL = ("corrected_wall_s", "corrected_wall_low_s", "corrected_wall_high_s")
UNCORRECTABLE = "uncorrectable_s"
PROCESS_COLUMNS = (
    "process", "machine", "pid", "parent_pid", "parent", "role", "exit_status", "complete", "start_s", "end_s",
    "wall_s", *CORRECTED_WALL, UNCORRECTABLE, "iterations", "threads_in_operations", "beside_s",
)  # fmt: skip
PHASE_COLUMNS = ("process", "phase", "start_s", "end_s", "wall_s", "cpu_s", "gpu_s", "wait_s")
PHASE_GROUP_COLUMNS = ("phase", "processes", "least_s", "median_s", "most_s", "straggler", "late_s")
ON_CPU = (Resource.CPU.value, Resource.BOTH.value)
ON_GPU = (Resource.GPU.value, Resource.BOTH.value)
#: With fewer, none of them ends later than most.
LEAST_WITH_STRAGGLER = 3


def processes_table(swept: TraceSweep, corrected: list[CorrectedProcess] | None) -> pd.DataFrame:
    """The table `processes` of an analysis; `corrected` has one entry for each process."""
    pids = {(process.file.header.boot_id, process.file.header.pid) for process in swept.processes}
    names = {machine.boot_id: machine.name for machine in swept.machines}
    origin_ns = min(process.start_ns for process in swept.processes)
    rows = []
    for place, process in enumerate(swept.processes):
        header = process.file.header
        found = corrected[place] if corrected is not None else None
        rows.append(
            {
                "process": process.name,
                "machine": names[header.boot_id.hex()],
                "pid": header.pid,
                "parent_pid": header.parent_pid if (header.boot_id, header.parent_pid) in pids else None,
                "role": process.role,
                "exit_status": process.file.exit_status,
                "complete": process.found["complete"],
                "start_s": (process.start_ns - origin_ns) / NS_PER_S,
                "end_s": (process.end_ns - origin_ns) / NS_PER_S,
                "wall_s": (process.end_ns - process.start_ns) / NS_PER_S,
                **dict(zip(CORRECTED_WALL, times_of(found.wall if found is not None else None), strict=True)),
                UNCORRECTABLE: found.uncorrectable_s if found is not None else float("nan"),
                "iterations": (process.found["progress"] or {"iterations": 0})["iterations"],
                "threads_in_operations": process.found["threads_in_operations"],
                "beside_s": process.length_ns(process.found["beside_ticks"]) / NS_PER_S,
            }
        )
    table = pd.DataFrame(rows, columns=list(PROCESS_COLUMNS))
    # Of objects, so that what is not known stays None.
    table["parent"] = pd.Series(parents(swept.processes), dtype=object)
    return table.astype({"parent_pid": "Int64", "exit_status": "Int64"})


def parents(processes: Sequence[ProcessSweep]) -> list[str | None]:
    """The name of each one's parent: the process with that id that was alive when it started; None if not recorded.

    Args:
        processes: by start.
    """
    return [_parent(process, processes[:place]) for place, process in enumerate(processes)]


def _parent(child: ProcessSweep, earlier: Sequence[ProcessSweep]) -> str | None:
    header = child.file.header
    for process in reversed(earlier):
        other = process.file.header
        if (other.boot_id, other.pid) == (header.boot_id, header.parent_pid):
            return process.name if _may_be_alive(process, child.start_ns) else None
    return None


def _may_be_alive(process: ProcessSweep, time_ns: int) -> bool:
    """A process that did not end its recording itself may have lived on after its last record."""
    has_ended = process.file.header.end_reason in (EndReason.STOPPED, EndReason.EXIT)
    return not has_ended or process.end_ns >= time_ns


def as_tree(processes: pd.DataFrame) -> list[tuple[int, str]]:
    """Depth and name of each process, children under their parent and by start.

    Args:
        processes: the table of an analysis.
    """
    children: dict[str | None, list[str]] = {}
    for name, parent in zip(processes["process"], processes["parent"], strict=True):
        children.setdefault(parent, []).append(name)
    found = []
    waiting = [(0, name) for name in reversed(children.get(None, []))]
    while waiting:
        depth, name = waiting.pop()
        found.append((depth, name))
        waiting += [(depth + 1, child) for child in reversed(children.get(name, []))]
    return found


def phases_table(swept: TraceSweep, breakdown: pd.DataFrame) -> pd.DataFrame:
    """One row per process and phase, with the columns of `PHASE_COLUMNS`; by process, then by start.

    Args:
        swept: the processes.
        breakdown: the table of the same trace.
    """
    keys = ["process", "phase"]
    resource, seconds = breakdown["resource"], breakdown["seconds"]
    parts = breakdown[keys].assign(
        wall_s=seconds,
        cpu_s=seconds.where(resource.isin(ON_CPU), 0.0),
        gpu_s=seconds.where(resource.isin(ON_GPU), 0.0),
        wait_s=seconds.where(breakdown["category"] == Category.WAIT.label, 0.0),
    )
    sums = parts.groupby(keys, sort=False).sum()
    bounds = _phase_bounds(swept, set(sums.index[sums["wall_s"] > 0]))
    return bounds.join(sums, on=keys).fillna(dict.fromkeys(sums.columns, 0.0))[list(PHASE_COLUMNS)]


def _phase_bounds(swept: TraceSweep, with_time: set[tuple[str, str]]) -> pd.DataFrame:
    """When each phase began and ended; time in no phase is a phase as long as the process."""
    origin_ns = min(process.start_ns for process in swept.processes)
    rows = []
    for process in swept.processes:
        found = process.found["phases"]
        if (process.name, NO_PHASE) in with_time and NO_PHASE not in (name for name, *_ in found):
            found = [(NO_PHASE, process.found["start_ticks"], process.found["end_ticks"]), *found]
        for name, *ticks in found:
            start_ns, end_ns = map(process.file.clock.realtime_ns, ticks)
            rows.append((process.name, name, (start_ns - origin_ns) / NS_PER_S, (end_ns - origin_ns) / NS_PER_S))
    return pd.DataFrame(rows, columns=list(PHASE_COLUMNS[:4])).astype({"start_s": float, "end_s": float})


def process_totals(phases: pd.DataFrame) -> pd.DataFrame:
    """The seconds of each process over all its phases; `process` is the index."""
    return phases.groupby("process", sort=False)[["wall_s", "cpu_s", "gpu_s", "wait_s"]].sum()


def phase_groups(phases: pd.DataFrame) -> pd.DataFrame:
    """How long processes take for the same phase, and which of them all others may have to wait for.

    Args:
        phases: the table of an analysis. Time in no phase is left out.

    Returns:
        One row per phase, by start: `processes` that have it; `least_s`, `median_s` and `most_s` of their `wall_s`;
        `straggler`, the process that ended it last, and `late_s`, how long after the median end. Of fewer than three
        processes none is a straggler; then both are missing.
    """
    rows = []
    named = phases[phases["phase"] != NO_PHASE].sort_values("start_s", kind="stable")
    for phase, group in named.groupby("phase", sort=False):
        walls, ends = group["wall_s"], group["end_s"]
        straggler, late_s = None, np.nan
        if len(group) >= LEAST_WITH_STRAGGLER:
            straggler, late_s = group.loc[ends.idxmax(), "process"], ends.max() - ends.median()
        rows.append((phase, len(group), walls.min(), walls.median(), walls.max(), straggler, late_s))
    return pd.DataFrame(rows, columns=list(PHASE_GROUP_COLUMNS))
