"""Analyzed traces as the workloads of a figure: one group of bars per process that took part in training."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.rows import sums
from rlscope.analysis.tables.loop import Loops
from rlscope.model import NO_OPERATION, STAGES
from rlscope.plots.folding import SECONDS, drawn_times, fold_breakdown, fold_transitions
from rlscope.plots.tables import RECORDED_TIME, TRAINING_TIME, breakdown_table, transitions_table
from rlscope.report.sentences import added_text
from rlscope.text.numbers import duration

#: In a figure; more could not be read.
MOST_GROUPS = 24


@dataclass(frozen=True)
class Workload:
    """One group of bars.

    Attributes:
        name: the trace's, with the process's where the trace has several.
        breakdown: the process's rows of the analysis.
        transitions: the same.
        loops: where the loops of the trace lie.
        extrapolated_s: length of the whole training as recorded, None where nothing reported progress.
    """

    name: str
    breakdown: pd.DataFrame
    transitions: pd.DataFrame
    loops: Loops
    extrapolated_s: float | None


def workloads(analyses: dict[str, Analysis]) -> list[Workload]:
    """Return the processes of the traces, trace by trace: of more than MOST_GROUPS those most in operations."""
    everyone = [(name, row.process) for name, analysis in analyses.items() for row in analysis.processes]
    times_s = {name: process_times(analysis) for name, analysis in analyses.items()}
    by_time = sorted(everyone, key=lambda one: times_s[one[0]].get(one[1], (0.0, 0.0)), reverse=True)
    drawn = set(by_time[:MOST_GROUPS])
    return [workload_of(name, process, analyses[name]) for name, process in everyone if (name, process) in drawn]


def not_drawn_text(analyses: dict[str, Analysis]) -> str:
    """Return how many processes `workloads` leaves out; empty where it leaves out none."""
    more = sum(len(analysis.processes) for analysis in analyses.values()) - MOST_GROUPS
    if more <= 0:
        return ""
    return (
        f"figures of stages show the {MOST_GROUPS} processes with most time in operations; of {more:,} more "
        "`rlscope analyze --csv` has the numbers"
    )


def process_times(analysis: Analysis) -> dict[str, tuple[float, float]]:
    """Return the seconds of each process in operations, and all of them."""
    whole_s = sums((row.process, row.seconds) for row in analysis.breakdown)
    in_s = sums((row.process, row.seconds) for row in analysis.breakdown if row.operation != NO_OPERATION)
    return {process: (in_s.get(process, 0.0), seconds) for process, seconds in whole_s.items()}


def workload_of(name: str, process: str, analysis: Analysis) -> Workload:
    """Return a process of the trace that has this name."""
    is_alone = len(analysis.processes) == 1
    breakdown, transitions = (
        rows.table[rows.table["process"] == process] for rows in (analysis.breakdown, analysis.transitions)
    )
    extrapolated_s = analysis.extrapolated_s if is_alone else None
    return Workload(name if is_alone else f"{name}: {process}", breakdown, transitions, analysis.loops, extrapolated_s)


@dataclass(frozen=True)
class BreakdownView:
    """A table for `breakdown_figure`, what its seconds are, and the seconds outside training that it leaves out."""

    table: pd.DataFrame
    time: str
    left_out_s: float = 0.0
    evaluation_s: float = 0.0

    @property
    def evaluation_text(self) -> str:
        """Return what is left out besides, to be put behind the other seconds; nothing without evaluation."""
        return f", and {duration(self.evaluation_s)} of evaluation" if self.evaluation_s > 0 else ""


def published_view(shown: Iterable[Workload]) -> BreakdownView:
    """Return training in its stages, and between them; processes without any of it are not shown.

    It looks as published figures do. Beside their three stages it has synchronisation, where that took time.
    """
    folded = [(workload, fold_breakdown(workload.breakdown, workload.loops, STAGES)) for workload in shown]
    training = [(workload, fold) for workload, fold in folded if len(fold.rows)]
    # One axis, one meaning: seconds of whole trainings only where the length of every training is known.
    known = all(workload.extrapolated_s is not None for workload, _ in training)
    tables = []
    for workload, fold in training:
        recorded_s = fold.rows["uncorrected_seconds"].sum()
        if known and workload.extrapolated_s is not None:
            recorded_s = workload.extrapolated_s
        tables.append(breakdown_table(workload.name, fold.rows, recorded_s * fold.share_left, recorded_s))
    return BreakdownView(
        pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(),
        TRAINING_TIME if known else RECORDED_TIME,
        sum(fold.left_out_s for _, fold in folded),
        sum(fold.evaluation_s for _, fold in folded),
    )


def complete_view(shown: Iterable[Workload]) -> BreakdownView:
    """Return everything that was recorded, with waiting, idle time and time in no operation."""
    tables = []
    for workload in shown:
        if len(rows := drawn_times(workload.breakdown)):
            lengths_s = (rows[name].sum() for name in SECONDS)
            tables.append(breakdown_table(workload.name, rows, *lengths_s))
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    return BreakdownView(table, RECORDED_TIME)


def correction_caption(analyses: Iterable[Analysis]) -> str:
    """Return whether a figure of their times has what recording added, as a sentence."""
    added = [added_text(analysis.correction) if analysis.correction else None for analysis in analyses]
    texts = ", ".join(dict.fromkeys(text for text in added if text))
    if not texts:
        return "Times are as recorded, with what recording added."
    some = "" if all(added) else " Not of all traces: some have no calibration."
    return f"What recording added is subtracted: {texts}.{some}"


def transitions_view(shown: Iterable[Workload]) -> tuple[pd.DataFrame, str]:
    """Return the table for `transitions_figure` and the column to draw: per iteration where all workloads report
    progress.
    """
    tables = [transitions_table(workload.name, fold_transitions(workload.transitions, STAGES)) for workload in shown]
    table = pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)
    return table, "per_iteration" if table["per_iteration"].notna().all() else "count"
