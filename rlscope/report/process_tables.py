"""This module says what is shown of processes: their tree, phases, memory and native calls, and who waited for whom."""

from collections.abc import Iterable

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.ranks.rows import CollectiveRow
from rlscope.analysis.rows import Record, sums
from rlscope.analysis.tables.processes import as_tree, phase_groups
from rlscope.model import NO_OPERATION, NO_PHASE, STAGES, TRAINING_LOOP
from rlscope.report.tables import where_text
from rlscope.text import line_text
from rlscope.text.numbers import duration, size

#: Smaller shares of a process's life are only in the JSON document and the CSV files.
LEAST_SHOWN = 0.001
TOTALS = ("cpu_s", "gpu_s", "wait_s")
INFRASTRUCTURE = "infrastructure"
SHARED_GPUS = (
    "gpu_s of a process includes time in which another process had the device, so these are upper bounds; how long "
    "each device was busy is the union over all processes, which is exact."
)


def process_tree(analysis: Analysis) -> list[Record]:
    """Return the processes with their totals, children indented under their parents."""
    cpu_s = sums((row.process, row.cpu_s) for row in analysis.phases)
    gpu_s = sums((row.process, row.gpu_s) for row in analysis.phases)
    wait_s = sums((row.process, row.wait_s) for row in analysis.phases)
    return [
        row.record()
        | {"process": "  " * depth + row.process}
        | {name: of.get(row.process, 0.0) for name, of in zip(TOTALS, (cpu_s, gpu_s, wait_s), strict=True)}
        for depth, row in as_tree(analysis.processes)
    ]


def phases_shown(analysis: Analysis) -> list[Record]:
    """Return the phases of processes that name any; `gpu_s` only where a device was used."""
    with_names = {row.process for row in analysis.phases if row.phase != NO_PHASE}
    shown = [row.record() for row in analysis.phases if row.process in with_names]
    return [{name: value for name, value in row.items() if analysis.gpu or name != "gpu_s"} for row in shown]


def _served(analysis: Analysis) -> dict[str, float]:
    """Return the wall time of each process but those that only serve others, as a fork server: these wait all life."""
    return {row.process: row.wall_s for row in analysis.processes if row.role != INFRASTRUCTURE}


def waited_for(analysis: Analysis) -> list[Record]:
    """Return who waited for whom, over all channels between two processes; the longest first.

    Processes that only serve others are left out; so is what takes too little of a process's life to be waiting, as to
    write a message.
    """
    served = _served(analysis)
    edges = [row for row in analysis.dependencies if row.process in served]
    count = sums(((row.process, row.phase, row.on), row.count) for row in edges)
    wait_s = sums(((row.process, row.phase, row.on), row.wait_s) for row in edges)
    return [
        {"process": process, "phase": phase, "on": on, "count": round(count[process, phase, on]), "wait_s": seconds}
        for (process, phase, on), seconds in sorted(wait_s.items(), key=lambda item: -item[1])
        if seconds >= LEAST_SHOWN * served[process]
    ]


def waits_shown(analysis: Analysis) -> list[Record]:
    """Return what processes waited in, and for whom where that is known; the longest first.

    Processes that only serve others are left out, as in `waited_for`, and what took too little.

    Returns:
        One row per process, function and `kind`: `waited_for`, the others, that for which it waited longest first;
        `count`; `wait_s`; `in_loop_s`, of these in its training loop; and `percent` of the process's wall time.
    """
    served = _served(analysis)
    waits = sorted((row for row in analysis.waits if row.process in served), key=lambda row: -row.wait_s)
    ends: dict[tuple[str, str], dict[str, None]] = {}
    for edge in sorted(analysis.dependencies, key=lambda row: -row.wait_s):
        ends.setdefault((edge.process, edge.stream), {})[edge.on] = None
    others: dict[tuple[str, str, str], dict[str, None]] = {}
    for row in waits:
        others.setdefault((row.process, row.function, row.kind), {}).update(ends.get((row.process, row.stream), {}))
    count = sums(((row.process, row.function, row.kind), row.count) for row in waits)
    in_loop_s = sums(((row.process, row.function, row.kind), row.in_loop_s) for row in waits)
    wait_s = sums(((row.process, row.function, row.kind), row.wait_s) for row in waits)
    shown: list[Record] = []
    for key, seconds in sorted(wait_s.items(), key=lambda item: -item[1]):
        process, function, kind = key
        percent = 100 * seconds / served[process] if served[process] else 0.0
        if percent >= 100 * LEAST_SHOWN:
            cells: Record = {"process": process, "function": function, "kind": kind or "-"}
            cells["waited_for"] = _some(list(others[key]))
            shown.append(
                cells | {"count": round(count[key]), "wait_s": seconds, "in_loop_s": in_loop_s[key], "percent": percent}
            )
    return shown


def _some(names: list[str]) -> str:
    """Return the first one, and how many others there are."""
    if not names:
        return "-"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def ranks_shown(analysis: Analysis) -> list[Record]:
    """Return what ranks did with their time, with their machines where there are several."""
    several = len(analysis.machines) > 1
    return [
        {name: value for name, value in row.record().items() if several or name != "machine"} for row in analysis.ranks
    ]


def stragglers_shown(analysis: Analysis) -> list[Record]:
    """Return which ranks kept the others waiting: for how long, for which share of the time, and why."""
    return [
        {
            "process": row.process,
            "calls": row.calls,
            "late_s": row.late_s,
            "others_wait_percent": 100 * row.others_wait_s / row.span_s if row.span_s else None,
            "stands_out": row.stands_out,
            "more than the others": " in ".join(filter(None, (row.cause, row.stage))) or "-",
        }
        for row in analysis.stragglers
    ]


def collectives_shown(collectives: Iterable[CollectiveRow]) -> list[Record]:
    """Return the calls of communicators, or their kernels, and how long ranks waited for them."""
    return [
        {
            "process": row.process,
            "communicator": row.communicator,
            "operation": row.operation,
            "count": row.count,
            "late_s": row.late_s,
            "wait_s": row.wait_s,
            "transfer_s": row.transfer_s,
        }
        for row in sorted(collectives, key=lambda row: -(row.wait_s + row.transfer_s))
    ]


def process_lines(analysis: Analysis) -> list[str]:
    """Says which processes ended a phase last, and how to read the seconds of shared devices."""
    lines = [
        f"straggler in phase {row.phase}: {row.straggler}, which ended {duration(row.late_s)} after the median "
        f"end of {row.processes} processes, which took {duration(row.least_s)} to {duration(row.most_s)}"
        for row in phase_groups(analysis.phases)
        if row.straggler is not None and row.late_s is not None
    ]
    if len({row.process for row in analysis.gpu_operations}) > 1:
        lines.append(SHARED_GPUS)
    return lines


def call_sites_shown(analysis: Analysis) -> list[Record]:
    """Return the lines that made native calls, those with most stacks first."""
    return [
        {
            "process": row.process,
            "where": where_text(row.stage, row.operation),
            "function": row.function,
            "line": line_text(row.file, row.line),
            "stacks": row.stacks,
            "calls_percent": row.calls_percent,
            "time_percent": row.time_percent,
        }
        for row in sorted(analysis.call_sites, key=lambda row: -row.stacks)
    ]


def memory_shown(analysis: Analysis) -> list[Record]:
    """Return a row per process and owner of memory, the largest peak first, with the most in each stage."""
    most: dict[tuple[str, str, int | None], dict[str, int]] = {}
    for row in analysis.memory:
        stages = most.setdefault((row.process, row.owner, row.device), {})
        stages[row.stage] = max(stages.get(row.stage, 0), row.highest_bytes)
    known = {stage for stages in most.values() for stage in stages}
    names = {stage: stage for stage in (*STAGES, TRAINING_LOOP)} | {NO_OPERATION: "no_stage"}
    shown = {stage: name for stage, name in names.items() if stage in known}
    return [
        {
            "process": growth.process,
            "memory": growth.owner if growth.device is None else f"{growth.owner}, GPU {growth.device}",
            "peak": size(growth.peak_bytes),
            **{
                name: _text(most[growth.process, growth.owner, growth.device].get(stage))
                for stage, name in shown.items()
            },
            "at_end": size(growth.last_bytes),
        }
        for growth in sorted(analysis.memory_growth, key=lambda row: -row.peak_bytes)
    ]


def _text(number: int | None) -> str:
    return "" if number is None else size(number)
