"""This file makes the tables of a study's traces: one per repetition, then their mean."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from experiments.harness.case_study import CaseStudy
from experiments.harness.execute import Execution
from experiments.harness.progress import StudyRun, Workload
from experiments.verdicts.corrected import analyzed, corrected_text
from experiments.verdicts.statistics import Estimate, estimated_mean, widened
from rlscope.analysis.correction.corrected import AppliedCorrection, Corrected
from rlscope.analysis.tables.breakdown import CORRECTED as CORRECTED_TIMES
from rlscope.errors import IncompleteTraceError, UsageError
from rlscope.model import NO_OPERATION, Category, Resource
from rlscope.plots.folding import CORRECTED, PIECE, drawn_times, fold_breakdown, fold_transitions
from rlscope.plots.tables import (
    BREAKDOWN_COLUMNS,
    TRANSITION_COLUMNS,
    breakdown_table,
    in_stack_order,
    transitions_table,
)
from rlscope.text.numbers import duration

#: Resources of the time in which a GPU works.
ON_GPU = [Resource.GPU.value, Resource.BOTH.value]
NO_TRANSITIONS = pd.DataFrame(columns=TRANSITION_COLUMNS)
#: What is less is how sums of times are rounded.
LEAST_LEFT_OUT_S = 1e-6
#: The least, the expected and the most seconds that a correction leaves.
ENDS = ("low_s", "seconds", "high_s")


@dataclass(frozen=True)
class Result:
    """One repetition, folded as the published figures are, without what recording added where that is known.

    Attributes:
        workload: what ran.
        table: as from `breakdown_table`: shares of the recorded training, spread over the extrapolated whole.
        left_out_s: recorded seconds outside training.
        cuda_s: recorded seconds of training inside CUDA calls; the interval is that of the calibration.
        gpu_s: recorded seconds of training with a GPU busy.
        timesteps: recorded.
        transitions: as from `transitions_table`.
        correction: how times were corrected; None if they were not.
        uncorrected: why they were not; empty if they were.
        no_core_share: share of training in which it waited for a core, from 0 to 1; None if not known.
    """

    workload: Workload
    table: pd.DataFrame
    left_out_s: float
    cuda_s: Corrected
    gpu_s: float
    timesteps: int
    transitions: pd.DataFrame
    correction: AppliedCorrection | None
    uncorrected: str
    no_core_share: float | None = 0.0

    def percent(self, stage: str) -> float:
        """Return the stage's share of training time."""
        return float(self.table.loc[self.table["stage"] == stage, "percent"].sum())

    def seconds(self, stage: str, category: str) -> float:
        """Return seconds of a category in a stage."""
        rows = (self.table["stage"] == stage) & (self.table["category"] == category)
        return float(self.table.loc[rows, "seconds"].sum())

    def percent_on(self, *resources: Resource) -> float:
        """Return the share of training time in which these work."""
        rows = self.table["resource"].isin([resource.value for resource in resources])
        return float(self.table.loc[rows, "percent"].sum())

    def stage_seconds(self, stage: str) -> float:
        """Return seconds of a stage."""
        return float(self.table.loc[self.table["stage"] == stage, "seconds"].sum())

    def entries(self, stage: str, category: str) -> float:
        """Return how often the stage enters a category, per timestep."""
        rows = (self.transitions["stage"] == stage) & (self.transitions["category"] == category)
        return float(self.transitions.loc[rows, "per_timestep"].sum())

    @property
    def training_s(self) -> float:
        """Return seconds of the whole training."""
        return float(self.table["training_s"].iloc[0])


def results_of(study: CaseStudy) -> tuple[list[Result], list[Execution], list[str]]:
    """Record a study's runs and analyze what they leave.

    Returns:
        The results; the executions behind them; what there is to say of each run that did not end well.

    Raises:
        UsageError: Nothing could be recorded.
    """
    executed, failures = executed_of(study)
    return [result_of(*one) for one in executed], [execution for _, execution in executed], failures


def executed_of(study: CaseStudy) -> tuple[list[tuple[StudyRun, Execution]], list[str]]:
    """Record a study's runs.

    Returns:
        Those that ended well; what there is to say of each other one.

    Raises:
        UsageError: Nothing could be recorded.
    """
    executed, failures = study.record(study.runs())
    if not executed:
        raise UsageError(" ".join(["nothing could be recorded.", *study.left_out, *failures]))
    return executed, failures


def result_of(study_run: StudyRun, execution: Execution) -> Result:
    """Analyze the trace of a run; training happens in its main process."""
    analysis = analyzed(execution.trace)
    main = {row.process for row in analysis.processes if row.role == "main"}
    breakdown = analysis.breakdown.table
    breakdown = breakdown[breakdown["process"].isin(main)]
    trains = (breakdown["stage"] != NO_OPERATION).any()
    iterations, timesteps, total_timesteps = analysis.iterations, analysis.timesteps, analysis.total_timesteps
    if not trains or analysis.extrapolated_s is None or not (iterations and timesteps and total_timesteps):
        raise IncompleteTraceError(
            f"{execution.trace}: expected training with progress reports, found "
            f"{'some' if trains else 'no'} training and {analysis.iterations} iterations. "
            "Look at it with `rlscope inspect`"
        )
    transitions = analysis.transitions.table
    found = transitions[transitions["process"].isin(main)]
    return folded_result(
        study_run.workload,
        breakdown,
        analysis.correction,
        analysis.uncorrected,
        timesteps,
        recorded_training_s=analysis.extrapolated_s,
        unrecorded_training_s=unrecorded_training_s(execution, timesteps / iterations, total_timesteps),
        transitions=transitions_table(study_run.workload.name, fold_transitions(found)),
        tells_no_core=analysis.no_core_share is not None,
    )


def folded_result(
    workload: Workload,
    breakdown: pd.DataFrame,
    correction: AppliedCorrection | None,
    uncorrected: str,
    timesteps: int,
    recorded_training_s: float | None = None,
    unrecorded_training_s: float | None = None,
    transitions: pd.DataFrame = NO_TRANSITIONS,
    tells_no_core: bool = True,
) -> Result:
    """Return the breakdown of the process that trains, folded as the published figures are.

    Args:
        workload: what ran.
        breakdown: rows of the process, as in an analysis.
        correction: how they were corrected; None if they were not.
        uncorrected: why they were not.
        timesteps: recorded.
        recorded_training_s: of the whole training, at the recorded speed; None for the recorded part of it.
        unrecorded_training_s: the same, at the speed of iterations that were not recorded, if there were any.
        transitions: as from `transitions_table`.
        tells_no_core: whether time without a core is told from other time.
    """
    folded = fold_breakdown(breakdown)
    recorded_s = recorded_training_s or float(folded.rows["uncorrected_seconds"].sum())
    table = breakdown_table(
        workload.name,
        folded.rows,
        unrecorded_training_s or recorded_s * folded.share_left,
        unrecorded_training_s or recorded_s,
    )
    training = breakdown[breakdown["stage"] != NO_OPERATION]
    in_cuda = training[training["category"] == Category.CUDA.label]
    times = CORRECTED_TIMES if correction else ("seconds",) * len(CORRECTED_TIMES)
    return Result(
        workload=workload,
        table=table,
        left_out_s=folded.left_out_s,
        cuda_s=Corrected(*(float(in_cuda[name].sum()) for name in times)),
        gpu_s=float(drawn_times(training).loc[training["resource"].isin(ON_GPU), "seconds"].sum()),
        timesteps=timesteps,
        transitions=transitions,
        correction=correction,
        uncorrected=uncorrected,
        no_core_share=_no_core_share(training) if tells_no_core else None,
    )


def _no_core_share(training: pd.DataFrame) -> float:
    whole_s = float(training["seconds"].sum())
    no_core_s = float(training.loc[training["category"] == Category.NO_CORE.label, "seconds"].sum())
    return no_core_s / whole_s if whole_s > 0 else 0.0


def unrecorded_training_s(execution: Execution, timesteps: float, total_timesteps: int) -> float | None:
    """Return the seconds of the whole training, at the speed of the iterations that were not recorded.

    Args:
        execution: of the run.
        timesteps: of one iteration.
        total_timesteps: of the whole training.
    """
    iteration_s = execution.unrecorded_iteration_s
    return iteration_s / timesteps * total_timesteps if iteration_s else None


def by_workload(results: Iterable[Result]) -> dict[Workload, list[Result]]:
    """Return the repetitions of each workload."""
    groups: dict[Workload, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.workload].append(result)
    return dict(groups)


def each(repetitions: Mapping[str, Sequence[Result]], number: Callable[[Result], float]) -> dict[str, list[float]]:
    """Return a number of every repetition of every workload."""
    return {name: [number(result) for result in results] for name, results in repetitions.items()}


def gpu_percent(result: Result) -> float:
    """Time with a GPU busy over training time."""
    return result.percent_on(Resource.BOTH, Resource.GPU)


def cuda_to_gpu(result: Result, end: str) -> float:
    """Return seconds inside CUDA calls, by one of ENDS, over seconds with a GPU busy, in training."""
    return float(getattr(result.cuda_s, end)) / result.gpu_s


def over_calibration(estimate_by: Callable[[str], Estimate]) -> Estimate:
    """Return a metric of time in CUDA calls, whose interval holds that of the calibration: all runs share its error.

    Args:
        estimate_by: from one of ENDS to the metric of those times.
    """
    least, expected, most = (estimate_by(end) for end in ENDS)
    return widened(expected, least.value, most.value)


def python_to_simulator(result: Result) -> float:
    """Return seconds in Python over seconds in the simulator, inside simulation."""
    simulator_s = result.seconds("simulation", "simulator")
    if simulator_s == 0:
        raise IncompleteTraceError(
            f"{result.workload.name} in {result.workload.group}: expected time in the simulator, found none; "
            "its boundaries were not recorded. Look at a trace below runs/ with `rlscope inspect`"
        )
    return result.seconds("simulation", "python") / simulator_s


def left_out_text(results: Sequence[Result], outside: str) -> list[str]:
    """Return a sentence on what was recorded outside of something and is left out; none where that is nothing."""
    mean_s = sum(result.left_out_s for result in results) / max(len(results), 1)
    if mean_s < LEAST_LEFT_OUT_S:
        return []
    return [f"Recorded outside {outside} and left out: {duration(mean_s)} of an average run."]


def mean_table(results: Sequence[Result]) -> pd.DataFrame:
    """Return the table behind a figure: means over repetitions, with 95 % intervals.

    Returns:
        The columns of `breakdown_table`, then percent_low, percent_high, seconds_low, seconds_high, training_low_s,
        training_high_s, repetitions. A piece absent from a repetition counts as 0 there.
    """
    return pd.concat([mean_of(repetitions) for repetitions in by_workload(results).values()], ignore_index=True)


def mean_transitions(results: Sequence[Result]) -> pd.DataFrame:
    """Return the table behind a figure of transitions: means over repetitions, with 95 % intervals.

    Returns:
        The columns of `transitions_table`, then the ends of the interval of each mean (count_low, count_high, …) and
        repetitions. What a repetition lacks counts as 0 there.
    """
    tables = []
    for workload, repetitions in by_workload(results).items():
        everything = pd.concat(
            [result.transitions.assign(repetition=number) for number, result in enumerate(repetitions)]
        )
        columns: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for count in ("count", "per_iteration", "per_timestep"):
            values = everything.pivot_table(
                index=["stage", "category"], columns="repetition", values=count, aggfunc="sum"
            ).reindex(columns=range(len(repetitions)))
            for index, row in zip(values.index, values.fillna(0.0).to_numpy(), strict=True):
                columns[index] |= estimated_mean(list(row)).columns(count)
        mean = pd.DataFrame.from_dict(columns, orient="index").rename_axis(["stage", "category"]).reset_index()
        mean = mean.assign(repetitions=len(repetitions))
        tables.append(in_stack_order(mean.assign(workload=workload.name)))
    table = pd.concat(tables, ignore_index=True)
    return table[[*TRANSITION_COLUMNS, *(column for column in table.columns if column not in TRANSITION_COLUMNS)]]


def mean_of(repetitions: Sequence[Result]) -> pd.DataFrame:
    """Return the mean of one workload's repetitions."""
    tables = pd.concat(
        [result.table.assign(repetition=number) for number, result in enumerate(repetitions)], ignore_index=True
    )
    training = estimated_mean(list(tables.groupby("repetition")["training_s"].first())).columns("training")
    drawn, recorded = ["percent", "seconds"], ["uncorrected_percent", "uncorrected_seconds"]
    pieces = tables.pivot_table(index=PIECE, columns="repetition", values=[*drawn, *recorded], fill_value=0.0)
    rows = []
    for piece, values in pieces.iterrows():
        row = dict(zip(PIECE, piece, strict=True)) | {name: values[name].mean() for name in recorded}
        for name in drawn:
            row |= estimated_mean(list(values[name])).columns(name)
        rows.append(row)
    table = pd.DataFrame(rows).assign(
        workload=repetitions[0].workload.name,
        training_s=training["training"],
        training_low_s=training["training_low"],
        training_high_s=training["training_high"],
        uncorrected_training_s=tables.groupby("repetition")["uncorrected_training_s"].first().mean(),
        repetitions=len(repetitions),
        corrected=corrected_text(tables[CORRECTED]),
    )
    intervals = ["percent_low", "percent_high", "seconds_low", "seconds_high", "training_low_s", "training_high_s"]
    return in_stack_order(table)[[*BREAKDOWN_COLUMNS, *intervals, "repetitions"]]
