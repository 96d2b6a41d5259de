"""Prints the tables of `rlscope analyze` in a terminal, for one trace or for several at once."""

from collections.abc import Sequence
from heapq import nlargest

from rich.console import Console

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.rows import Record, sums
from rlscope.analysis.stage_names import stage_name_lines
from rlscope.analysis.tables.breakdown import CORRECTED
from rlscope.model import NO_OPERATION
from rlscope.report.counter_lines import counter_lines, counters_shown
from rlscope.report.joined import joined
from rlscope.report.process_tables import TOTALS, phases_shown, process_lines, process_tree, waited_for, waits_shown
from rlscope.report.sentences import (
    TASKS_TITLE,
    advice_lines,
    correction_lines,
    evaluation_lines,
    machine_lines,
    misnested_lines,
)
from rlscope.report.tables import most, number, rich_table, seconds_text
from rlscope.text import printable

EDGES_SHOWN = 20


def print_tables(analyses: Sequence[Analysis], breakdowns: Sequence[Sequence[Record]], is_whole: bool) -> None:
    """Prints the facts of the analyses and their breakdowns.

    Args:
        analyses: of the traces.
        breakdowns: theirs, in the same order, summed as they are to be shown.
        is_whole: whether nothing was summed, so that everything else is printed too.
    """
    console = Console()
    for analysis in analyses:
        console.print(_summary(analysis), soft_wrap=True, highlight=False, markup=False)
    if is_whole:
        _print_advice(console, analyses)
        _print_processes(console, analyses)
    breakdown = joined(analyses, breakdowns)
    whole_s = sums((row.get("trace"), number(row["seconds"])) for row in breakdown)
    shown = [_with_interval(row, whole_s[row.get("trace")]) for row in breakdown]
    _print_most(console, "Breakdown", shown, "seconds", is_whole, "--csv FILE")
    if not is_whole:
        return
    for title, tables, column in (
        ("Transitions", [analysis.transitions.records() for analysis in analyses], "count"),
        (TASKS_TITLE, [analysis.tasks.records() for analysis in analyses], "elapsed_s"),
    ):
        if rows := joined(analyses, tables):
            _print_most(console, title, rows, column, is_whole)
    if gpus := joined(analyses, [_gpus(analysis) for analysis in analyses]):
        console.print(rich_table("GPUs", gpus))
        operations = joined(analyses, [analysis.gpu_operations.records() for analysis in analyses])
        _print_most(console, "GPU time by launching operation", operations, "busy_s", is_whole)
    if counters := joined(analyses, [counters_shown(analysis.counters) for analysis in analyses]):
        _print_most(console, "Hardware counters by launching operation", counters, "busy_s", is_whole)


def _print_most(
    console: Console, title: str, rows: Sequence[Record], column: str, is_whole: bool, option: str = "--json"
) -> None:
    """Prints a table, of a long one the rows with most of what is in a column; `option` shows all."""
    shown, rest = most(rows, column)
    console.print(rich_table(title, _without_trivial(shown) if is_whole else shown))
    if rest:
        console.print(f"{rest} with {option}\n", highlight=False)


def _print_advice(console: Console, analyses: Sequence[Analysis]) -> None:
    """Print what bounds each run, one paragraph each."""
    for analysis in analyses:
        for line in advice_lines(analysis):
            text = f"{printable(str(analysis.directory))}: {line}" if len(analyses) > 1 else line
            console.print(text, end="\n\n", highlight=False, markup=False)


def _print_processes(console: Console, analyses: Sequence[Analysis]) -> None:
    """Print the tree, phases and dependencies of processes; nothing of what only one process without a phase has."""
    if any(len(analysis.processes) > 1 for analysis in analyses):
        names = _processes_shown(analyses)
        trees = [[{name: row[name] for name in names} for row in process_tree(analysis)] for analysis in analyses]
        console.print(rich_table("Processes", joined(analyses, trees)))
    if phases := joined(analyses, [phases_shown(analysis) for analysis in analyses]):
        _print_most(console, "Phases", phases, "wall_s", is_whole=True)
    lines = [
        printable(f"{analysis.directory}: {line}" if len(analyses) > 1 else line)
        for analysis in analyses
        for line in process_lines(analysis)
    ]
    if lines:
        console.print("\n".join(lines), end="\n\n", soft_wrap=True, highlight=False, markup=False)
    if waits := joined(analyses, [waits_shown(analysis) for analysis in analyses]):
        console.print(rich_table("Waits", _without_trivial(_longest(waits))))
    if edges := joined(analyses, [waited_for(analysis) for analysis in analyses]):
        named = [{"calls" if name == "count" else name: cell for name, cell in row.items()} for row in _longest(edges)]
        console.print(rich_table("Who waited for whom", named))
        if (rest := len(edges) - EDGES_SHOWN) > 0:
            console.print(f"The {EDGES_SHOWN} longest waits, {rest} more with --json\n", highlight=False)


def _longest(rows: Sequence[Record]) -> list[Record]:
    return nlargest(EDGES_SHOWN, rows, key=lambda row: number(row["wait_s"]))


def _processes_shown(analyses: Sequence[Analysis]) -> list[str]:
    """The columns of processes that say something; exit statuses and completeness only where one is not as usual."""
    rows = [row for analysis in analyses for row in analysis.processes]
    shown = ["process", "pid", "role"]
    if any(len(analysis.machines) > 1 for analysis in analyses):
        shown.insert(1, "machine")
    if any(row.exit_status for row in rows):
        shown.append("exit_status")
    if not all(row.complete for row in rows):
        shown.append("complete")
    shown += ["start_s", "wall_s"]
    if any(analysis.correction for analysis in analyses):
        shown.append("corrected_wall_s")
    return [*shown, *(name for name in TOTALS if name != "gpu_s" or any(analysis.gpu for analysis in analyses))]


def _with_interval(row: Record, whole_s: float) -> Record:
    """With corrected seconds and their interval as one column, and the share of the whole in percent."""
    shown = {name: value for name, value in row.items() if not name.startswith("corrected")}
    corrected = [row.get(name) for name in CORRECTED]
    if corrected[0] is not None:
        seconds, low, high = (seconds_text(number(value)) for value in corrected)
        shown["corrected"] = f"{seconds} ({low}-{high})"
    return shown | {"percent": 100 * number(row["seconds"]) / whole_s if whole_s else 0.0}


def _gpus(analysis: Analysis) -> list[Record]:
    """How long each device worked, in seconds and percent of the run, and what the machine reported of it."""
    run_s = max(row.end_s for row in analysis.processes)
    return [
        {
            "device": row.device,
            "name": row.name,
            "busy_s": row.busy_s,
            "kernel_s": row.kernel_s,
            "busy_percent": 100 * row.busy_s / run_s if run_s else None,
            "reported_percent": None if row.reported_utilization is None else 100 * row.reported_utilization,
        }
        for row in analysis.gpu
    ]


def _summary(analysis: Analysis) -> str:
    wall_s = max(row.end_s for row in analysis.processes)
    parts = [f"{len(analysis.processes)} process{'es' if len(analysis.processes) > 1 else ''}", f"{wall_s:.3f} s"]
    if analysis.iterations is not None:
        parts += [f"{analysis.iterations} iterations", f"{analysis.timesteps} timesteps"]
    if analysis.extrapolated_s is not None:
        parts.append(f"about {analysis.extrapolated_s:.3g} s for all {analysis.total_timesteps} timesteps")
    lines = [f"{analysis.directory}: {', '.join(parts)}"]
    lines += [f"  incomplete: {reason}" for reason in analysis.why]
    facts = (
        *evaluation_lines(analysis), *machine_lines(analysis.machines), *counter_lines(analysis),
        *correction_lines(analysis), *stage_name_lines(analysis), *misnested_lines(analysis),
    )  # fmt: skip
    lines += [f"  {line}" for line in facts]
    return "\n".join(printable(line) for line in lines)


def _without_trivial(rows: Sequence[Record]) -> Sequence[Record]:
    """Without columns that say nothing: one process only, no phase, rates that are unknown."""
    columns = list(rows[0]) if rows else []
    values = {name: {row[name] for row in rows} for name in columns}
    trivial = {name for name in ("per_iteration", "per_timestep") if values.get(name) == {None}}
    trivial |= {name for name in ("phase", "stage") if values.get(name) == {NO_OPERATION}}
    if len(values.get("process", ())) == 1:
        trivial.add("process")
    return [{name: row[name] for name in columns if name not in trivial} for row in rows]
