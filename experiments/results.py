"""Traces of a study's runs to its tables: one per repetition, then their mean."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas

from experiments.case_study import StudyRun, Workload
from experiments.execute import Execution
from experiments.statistics import bootstrap_mean
from rlscope.analysis.breakdown import analyze
from rlscope.errors import IncompleteTraceError
from rlscope.model import NO_OPERATION, Category, Resource
from rlscope.plots.folding import fold_breakdown
from rlscope.plots.tables import breakdown_table, in_stack_order
from rlscope.trace.reader import open_trace

PIECE = ["stage", "category", "resource"]


@dataclass(frozen=True)
class Result:
    """One repetition, folded as the published figures are.

    Attributes:
        workload: what ran.
        table: as from `breakdown_table`: shares of the recorded training, spread over the extrapolated whole.
        left_out_s: recorded seconds outside training.
        cuda_s: recorded seconds of training inside CUDA calls.
        gpu_s: recorded seconds of training with a GPU busy.
    """

    workload: Workload
    table: pandas.DataFrame
    left_out_s: float
    cuda_s: float
    gpu_s: float

    def percent(self, stage: str) -> float:
        """The stage's share of training time."""
        return float(self.table.loc[self.table["stage"] == stage, "percent"].sum())

    def seconds(self, stage: str, category: str) -> float:
        """Seconds of a category in a stage."""
        rows = (self.table["stage"] == stage) & (self.table["category"] == category)
        return float(self.table.loc[rows, "seconds"].sum())


def result_of(study_run: StudyRun, execution: Execution) -> Result:
    """Analyze the trace of a run; training happens in its main process."""
    analysis = analyze(open_trace(execution.trace))
    main = analysis.processes.loc[analysis.processes["role"] == "main", "process"]
    breakdown = analysis.breakdown[analysis.breakdown["process"].isin(main)]
    folded = fold_breakdown(breakdown)
    if folded.rows.empty or analysis.extrapolated_s is None:
        raise IncompleteTraceError(
            f"{execution.trace}: expected training with progress reports, found "
            f"{len(folded.rows)} rows and {analysis.iterations} iterations. Look at it with `rlscope inspect`"
        )
    table = breakdown_table(study_run.workload.name, folded.rows, analysis.extrapolated_s)
    training = breakdown[breakdown["stage"] != NO_OPERATION]
    cuda_s = training.loc[training["category"] == Category.CUDA.label, "seconds"].sum()
    gpu_s = training.loc[training["resource"].isin([Resource.GPU.value, Resource.BOTH.value]), "seconds"].sum()
    return Result(study_run.workload, table, folded.left_out_s, float(cuda_s), float(gpu_s))


def by_workload(results: Iterable[Result]) -> dict[Workload, list[Result]]:
    """The repetitions of each workload."""
    groups: dict[Workload, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.workload].append(result)
    return dict(groups)


def mean_table(results: Sequence[Result]) -> pandas.DataFrame:
    """The table behind a figure: means over repetitions, with 95 % bootstrap intervals.

    Returns:
        The columns of `breakdown_table`, then percent_low, percent_high, training_low_s, training_high_s, repetitions,
        corrected ("no": recording's own time is included). A piece absent from a repetition counts as 0 there.
    """
    return pandas.concat([mean_of(repetitions) for repetitions in by_workload(results).values()], ignore_index=True)


def mean_of(repetitions: Sequence[Result]) -> pandas.DataFrame:
    """The mean of one workload's repetitions."""
    tables = pandas.concat(
        [result.table.assign(repetition=number) for number, result in enumerate(repetitions)], ignore_index=True
    )
    training = bootstrap_mean(list(tables.groupby("repetition")["training_s"].first()))
    pieces = tables.pivot_table(index=PIECE, columns="repetition", values=["percent", "seconds"], fill_value=0.0)
    rows = []
    for piece, values in pieces.iterrows():
        percent = bootstrap_mean(list(values["percent"]))
        rows.append((*piece, percent.value, values["seconds"].mean(), training.value, percent.low, percent.high))
    columns = [*PIECE, "percent", "seconds", "training_s", "percent_low", "percent_high"]
    table = pandas.DataFrame(rows, columns=columns)
    table.insert(0, "workload", repetitions[0].workload.name)
    table = table.assign(
        training_low_s=training.low, training_high_s=training.high, repetitions=len(repetitions), corrected="no"
    )
    return in_stack_order(table)
