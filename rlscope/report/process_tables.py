"""What `analyze` and `report` show of processes: their tree, their phases, and who waited for whom."""

import pandas as pd

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.tables.processes import as_tree, phase_groups, process_totals
from rlscope.model import NO_PHASE

#: Smaller shares of a process's life are only in the JSON document and the CSV files.
LEAST_SHOWN = 0.001
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
    """The phases of processes that name any; `gpu_s` only where a device was used."""
    phases = analysis.phases
    with_names = set(phases.loc[phases["phase"] != NO_PHASE, "process"])
    shown = phases[phases["process"].isin(with_names)]
    return shown if len(analysis.gpu) else shown.drop(columns="gpu_s")


def waited_for(analysis: Analysis) -> pd.DataFrame:
    """Who waited for whom, over all streams between two processes; the longest first.

    Processes that only serve others, such as a fork server, wait all their life and are left out; so is what takes too
    little of a process's life to be waiting, as to write a message.
    """
    roles = analysis.processes.set_index("process")["role"]
    edges = analysis.dependencies[analysis.dependencies["process"].map(roles) != "infrastructure"]
    edges = edges.groupby(["process", "phase", "on"], sort=False, as_index=False)[["count", "wait_s"]]
    table = edges.sum().sort_values("wait_s", ascending=False, kind="stable", ignore_index=True)
    wall_s = table["process"].map(analysis.processes.set_index("process")["wall_s"]).astype(float)
    table = table[table["wait_s"] >= LEAST_SHOWN * wall_s].reset_index(drop=True)
    return table.assign(count=table["count"].round().astype(int))


def waits_shown(analysis: Analysis) -> pd.DataFrame:
    """What processes waited in, and for whom where that is known; the longest first.

    Processes that only serve others are left out, as in `waited_for`, and what took too little.

    Returns:
        One row per process and function: `waited_for`, the others, that for which it waited longest first; `count`;
        `wait_s`; `in_loop_s`, of these in its training loop; and `percent` of the process's wall time.
    """
    processes = analysis.processes.set_index("process")
    table = analysis.waits[analysis.waits["process"].map(processes["role"]) != "infrastructure"]
    edges = analysis.dependencies.sort_values("wait_s", ascending=False, kind="stable")
    ends = (
        edges.groupby(["process", "stream"], sort=False)["on"].agg(lambda names: list(dict.fromkeys(names))).to_dict()
    )
    keys = ["process", "function"]
    columns = ["count", "wait_s", "in_loop_s"]
    table = table.sort_values("wait_s", ascending=False, kind="stable")
    others: dict[tuple[str, str], dict[str, None]] = {}
    for process, function, stream in zip(table["process"], table["function"], table["stream"], strict=True):
        others.setdefault((process, function), {}).update(dict.fromkeys(ends.get((process, stream), [])))
    sums = table.groupby(keys, sort=False, as_index=False)[columns].sum()
    sums = sums.sort_values("wait_s", ascending=False, kind="stable", ignore_index=True)
    names = [
        _some(list(others[process, function])) for process, function in zip(*(sums[key] for key in keys), strict=True)
    ]
    sums.insert(2, "waited_for", names)
    sums = sums.assign(percent=100 * sums["wait_s"] / sums["process"].map(processes["wall_s"]).astype(float))
    return sums[sums["percent"] >= 100 * LEAST_SHOWN].reset_index(drop=True)


def _some(names: list[str]) -> str:
    """The first one, and how many others there are."""
    if not names:
        return "-"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def process_lines(analysis: Analysis) -> list[str]:
    """The processes that ended a phase last, and how to read the seconds of shared devices."""
    lines = [
        f"straggler in phase {row['phase']}: {row['straggler']}, which ended {row['late_s']:.3g} s after the median "
        f"end of {row['processes']} processes, which took {row['least_s']:.3g} to {row['most_s']:.3g} s"
        for row in phase_groups(analysis.phases).to_dict("records")
        if pd.notna(row["straggler"])
    ]
    if analysis.gpu_operations["process"].nunique() > 1:
        lines.append(SHARED_GPUS)
    return lines
