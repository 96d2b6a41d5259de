"""What `analyze` and `report` show of processes: their tree, their phases, and who waited for whom."""

import pandas as pd

from rlscope.analysis.breakdown import Analysis
from rlscope.analysis.processes import as_tree, phase_groups, process_totals
from rlscope.model import NO_PHASE

TOTALS = ["cpu_s", "gpu_s", "wait_s"]
SHARED_GPUS = (
    "gpu_s of a process includes time in which another process had the device, so these are upper bounds; how long "
    "each device was busy is the union over all processes, which is exact."
)


def process_tree(analysis: Analysis) -> pd.DataFrame:
    """The table of processes with their totals, children indented under their parents."""
    tree = as_tree(analysis.processes)
    table = analysis.processes.set_index("process").join(process_totals(analysis.phases)[TOTALS])
    table = table.loc[[name for _, name in tree]].fillna(dict.fromkeys(TOTALS, 0.0)).reset_index()
    return table.assign(process=["  " * depth + name for depth, name in tree])


def phases_shown(analysis: Analysis) -> pd.DataFrame:
    """The table of phases, without devices where none was used; empty if no phase has a name."""
    phases = analysis.phases
    if (phases["phase"] == NO_PHASE).all():
        return phases.iloc[:0]
    return phases if len(analysis.gpu) else phases.drop(columns="gpu_s")


def waited_for(analysis: Analysis) -> pd.DataFrame:
    """Who waited for whom, over all streams between two processes; the longest first."""
    edges = analysis.dependencies.groupby(["process", "phase", "on"], sort=False, as_index=False)[["count", "wait_s"]]
    table = edges.sum().sort_values("wait_s", ascending=False, kind="stable", ignore_index=True)
    return table.assign(count=table["count"].round().astype(int))


def process_lines(analysis: Analysis) -> list[str]:
    """The processes that ended a phase last, and how to read the seconds of shared devices."""
    lines = [
        f"phase {row['phase']}: of {row['processes']} processes, which took {row['least_s']:.3g} to "
        f"{row['most_s']:.3g} s, {row['straggler']} ended last, {row['late_s']:.3g} s after the median end"
        for row in phase_groups(analysis.phases).to_dict("records")
        if pd.notna(row["straggler"])
    ]
    if analysis.gpu_operations["process"].nunique() > 1:
        lines.append(SHARED_GPUS)
    return lines
