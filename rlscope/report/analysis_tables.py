"""Prints the tables of `rlscope analyze` in a terminal, for one trace or for several at once."""

from collections.abc import Sequence

import pandas as pd
from rich.console import Console

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.stage_names import stage_name_lines
from rlscope.model import NO_OPERATION
from rlscope.report.counter_lines import counter_lines, counters_shown
from rlscope.report.process_tables import TOTALS, phases_shown, process_lines, process_tree, waited_for, waits_shown
from rlscope.report.sentences import (
    TASKS_TITLE,
    advice_lines,
    correction_lines,
    evaluation_lines,
    machine_lines,
    misnested_lines,
)
from rlscope.report.tables import most, rich_table, seconds_text
from rlscope.text import encodable, printable

EDGES_SHOWN = 20


def print_tables(analyses: Sequence[Analysis], breakdowns: Sequence[pd.DataFrame], is_whole: bool) -> None:
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
    seconds = breakdown["seconds"]
    whole = seconds.groupby(breakdown["trace"]).transform("sum") if "trace" in breakdown else seconds.sum()
    breakdown = _with_intervals(breakdown).assign(percent=100 * seconds / whole)
    _print_most(console, "Breakdown", breakdown, "seconds", is_whole, "--csv FILE")
    transitions = joined(analyses, [analysis.transitions for analysis in analyses])
    if is_whole and len(transitions):
        _print_most(console, "Transitions", transitions, "count", is_whole)
    tasks = joined(analyses, [analysis.tasks for analysis in analyses])
    if is_whole and len(tasks):
        _print_most(console, TASKS_TITLE, tasks, "elapsed_s", is_whole)
    if is_whole and any(len(analysis.gpu) for analysis in analyses):
        console.print(rich_table("GPUs", joined(analyses, [_gpus(analysis) for analysis in analyses])))
        operations = joined(analyses, [analysis.gpu_operations for analysis in analyses])
        _print_most(console, "GPU time by launching operation", operations, "busy_s", is_whole)
    counters = joined(analyses, [counters_shown(analysis.counters) for analysis in analyses])
    if is_whole and len(counters):
        _print_most(console, "Hardware counters by launching operation", counters, "busy_s", is_whole)


def joined(analyses: Sequence[Analysis], tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Joins the tables into one; with several traces its first column `trace` says which one a row is of."""
    if len(tables) == 1:
        return tables[0]
    labelled = []
    for analysis, table in zip(analyses, tables, strict=True):
        labelled.append(table.copy())
        labelled[-1].insert(0, "trace", encodable(str(analysis.directory)))
    return pd.concat(labelled, ignore_index=True)


def _print_most(
    console: Console, title: str, table: pd.DataFrame, column: str, is_whole: bool, option: str = "--json"
) -> None:
    """Prints a table, of a long one the rows with most of what is in a column; `option` shows all."""
    shown, rest = most(table, column)
    console.print(rich_table(title, _without_trivial(shown) if is_whole else shown))
    if rest:
        console.print(f"{rest} with {option}\n", highlight=False)


def _print_advice(console: Console, analyses: Sequence[Analysis]) -> None:
    """What bounds each run, one paragraph each."""
    for analysis in analyses:
        for line in advice_lines(analysis):
            text = f"{printable(str(analysis.directory))}: {line}" if len(analyses) > 1 else line
            console.print(text, end="\n\n", highlight=False, markup=False)


def _print_processes(console: Console, analyses: Sequence[Analysis]) -> None:
    """The tree, phases and dependencies of processes; nothing of what only one process without a phase has."""
    if any(len(analysis.processes) > 1 for analysis in analyses):
        table = joined(analyses, [process_tree(analysis)[_processes_shown(analyses)] for analysis in analyses])
        console.print(rich_table("Processes", table))
    phases = joined(analyses, [phases_shown(analysis) for analysis in analyses])
    if len(phases):
        _print_most(console, "Phases", phases, "wall_s", is_whole=True)
    lines = [
        printable(f"{analysis.directory}: {line}" if len(analyses) > 1 else line)
        for analysis in analyses
        for line in process_lines(analysis)
    ]
    if lines:
        console.print("\n".join(lines), end="\n\n", soft_wrap=True, highlight=False, markup=False)
    waits = joined(analyses, [waits_shown(analysis) for analysis in analyses])
    if len(waits):
        longest = waits.nlargest(EDGES_SHOWN, "wait_s")
        console.print(rich_table("Waits", _without_trivial(longest)))
    edges = joined(analyses, [waited_for(analysis) for analysis in analyses])
    if len(edges):
        rest = len(edges) - EDGES_SHOWN
        longest = edges.nlargest(EDGES_SHOWN, "wait_s").rename(columns={"count": "calls"})
        console.print(rich_table("Who waited for whom", longest))
        if rest > 0:
            console.print(f"The {EDGES_SHOWN} longest waits, {rest} more with --json\n", highlight=False)


def _processes_shown(analyses: Sequence[Analysis]) -> list[str]:
    """The columns of processes that say something; exit statuses and completeness only where one is not as usual."""
    tables = [analysis.processes for analysis in analyses]
    shown = ["process", "pid", "role"]
    if any(len(analysis.machines) > 1 for analysis in analyses):
        shown.insert(1, "machine")
    if any((table["exit_status"].fillna(0) != 0).any() for table in tables):
        shown.append("exit_status")
    if not all(table["complete"].all() for table in tables):
        shown.append("complete")
    shown += ["start_s", "wall_s"]
    if any(analysis.correction for analysis in analyses):
        shown.append("corrected_wall_s")
    return [*shown, *(name for name in TOTALS if name != "gpu_s" or any(len(analysis.gpu) for analysis in analyses))]


def _with_intervals(breakdown: pd.DataFrame) -> pd.DataFrame:
    """With corrected seconds and their interval as one column; without it where nothing was corrected."""
    shown = breakdown[[name for name in breakdown.columns if not name.startswith("corrected")]]
    if "corrected_seconds" not in breakdown or breakdown["corrected_seconds"].isna().all():
        return shown
    times = (breakdown[name] for name in ("corrected_seconds", "corrected_low_s", "corrected_high_s"))
    texts = [
        "-" if pd.isna(seconds) else f"{seconds_text(seconds)} ({seconds_text(low)}-{seconds_text(high)})"
        for seconds, low, high in zip(*times, strict=True)
    ]
    return shown.assign(corrected=texts)


def _gpus(analysis: Analysis) -> pd.DataFrame:
    """How long each device worked, in seconds and percent of the run, and what the machine reported of it."""
    table = analysis.gpu[["device", "name", "busy_s", "kernel_s"]]
    run_s = analysis.processes["end_s"].max()
    return table.assign(
        busy_percent=100 * table["busy_s"] / run_s, reported_percent=100 * analysis.gpu["reported_utilization"]
    )


def _summary(analysis: Analysis) -> str:
    wall_s = analysis.processes["end_s"].max()
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


def _without_trivial(table: pd.DataFrame) -> pd.DataFrame:
    """Without columns that say nothing: one process only, no phase, rates that are unknown."""
    trivial = [name for name in ("per_iteration", "per_timestep") if name in table and table[name].isna().all()]
    if "process" in table and table["process"].nunique() == 1:
        trivial.append("process")
    trivial += [name for name in ("phase", "stage") if name in table and (table[name] == NO_OPERATION).all()]
    return table.drop(columns=trivial)
