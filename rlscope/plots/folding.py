"""This file folds an analysis into the published view: three stages, no waiting and no idle time of its own."""

from dataclasses import dataclass

import pandas as pd

from rlscope.analysis.tables.loop import Loops, loops_of
from rlscope.model import (
    CATEGORIES,
    GPU_ONLY,
    NO_OPERATION,
    PUBLISHED_STAGES,
    SIMULATION,
    STAGES,
    TRAINING_LOOP,
    Category,
    Resource,
    Stage,
)
from rlscope.plots.style import BETWEEN_STAGES, GPU_ALONE

#: What tells the pieces of a figure's bars apart.
PIECE = ["stage", "category", "resource"]
#: What is drawn, and what was recorded: the same where nothing was subtracted.
SECONDS = ["seconds", "uncorrected_seconds"]
#: Whether what recording added was subtracted from a row's seconds.
CORRECTED, YES, NO = "corrected", "yes", "no"
PUBLISHED_TRANSITIONS = (Category.BACKEND.label, Category.CUDA.label, Category.SIMULATOR.label)


@dataclass(frozen=True)
class Folded:
    """This is what a published figure shows of a process, and how much it leaves out.

    Attributes:
        rows: stage, category, resource, corrected, SECONDS; one row for each combination that took time.
        left_out_s: seconds outside training: starting up, building the model, ending.
        evaluation_s: seconds of evaluation, which are left out too.
    """

    rows: pd.DataFrame
    left_out_s: float
    evaluation_s: float

    @property
    def share_left(self) -> float:
        """Return the drawn seconds over those that were recorded: 0.95 if recording added 5 % of these."""
        recorded_s = float(self.rows["uncorrected_seconds"].sum())
        return float(self.rows["seconds"].sum()) / recorded_s if recorded_s > 0 else 1.0


def drawn_times(breakdown: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of an analysis with the seconds to draw: corrected ones where there are any.

    Of 4.0 s that were recorded, and are 3.5 s without what recording added, `seconds` is 3.5 and `uncorrected_seconds`
    4.0. The column CORRECTED says YES then. Rows that have these columns already stay as they are.
    """
    if CORRECTED in breakdown.columns:
        return breakdown
    recorded = breakdown["seconds"]
    if "corrected_seconds" not in breakdown.columns or breakdown["corrected_seconds"].isna().any():
        return breakdown.assign(uncorrected_seconds=recorded, **{CORRECTED: NO})
    found = breakdown.assign(seconds=breakdown["corrected_seconds"], uncorrected_seconds=recorded, **{CORRECTED: YES})
    return found.drop(columns="corrected_seconds")


def with_a_core(rows: pd.DataFrame) -> pd.Series:
    """Return the category of each row, of time without a core that in which the thread would run if it had one."""
    if "ready_in" not in rows.columns:  # of older traces and tables
        return rows["category"]
    return rows["category"].mask(rows["category"] == Category.NO_CORE.label, rows["ready_in"])


def around_callbacks(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with what callbacks do in the stage in the middle of which they were called."""
    if "outer_stage" not in rows.columns:  # of older traces and tables
        return rows
    outer = rows["outer_stage"].fillna("")  # which a file of a table has as nothing
    return rows.assign(stage=rows["stage"].mask(outer != "", outer))


def fold_breakdown(
    breakdown: pd.DataFrame, loops: Loops | None = None, stages: tuple[str, ...] = PUBLISHED_STAGES
) -> Folded:
    """Fold a breakdown of one process as the published figures do.

    ===============================  ======================================================
    in the analysis                  in the figure
    ===============================  ======================================================
    stage, category, resource        what it is published as; a stage of `stages` as itself
    category no_core                 the category in which the thread would run (`ready_in`)
    what a callback does             the stage in which it was called (`outer_stage`)
    stage (none)                     left out
    phase evaluation                 left out, of a process that trains too
    any category, a device alone     gpu (without a hatch)
    ===============================  ======================================================

    In a loop of one's own no operation says what is training. With `loops`, what is in no stage there is a bar of its
    own, BETWEEN_STAGES, whose waits stay waits: no stage is drawn longer than it was.

    Seconds are those of `drawn_times`.

    Args:
        breakdown: rows of the analysis.
        loops: of the analysis; None to leave out what is in no stage in any case.
        stages: those that have bars of their own; by default those of the published figures.
    """
    rows = around_callbacks(drawn_times(breakdown))
    known = loops_of([*rows.itertuples(index=False)], ()) if loops is None else loops
    is_left_out = pd.Series(map(known.has_evaluation, rows.itertuples(index=False)), rows.index, dtype=bool)
    evaluation_s, rows = float(rows.loc[is_left_out, "seconds"].sum()), rows[~is_left_out]
    whole_s = float(rows["seconds"].sum())
    if loops is not None and TRAINING_LOOP not in set(rows["stage"]) and rows["stage"].isin(STAGES).any():
        shares = pd.Series(map(loops.share, rows.itertuples(index=False)), rows.index, dtype=float)
        rows = rows.assign(**{name: rows[name] * shares for name in SECONDS})
        rows = rows.assign(stage=rows["stage"].replace(NO_OPERATION, BETWEEN_STAGES))
    is_shown = (rows["stage"] != NO_OPERATION) & (rows[SECONDS] > 0).any(axis="columns")
    rows = rows.assign(category=with_a_core(rows))
    rows = rows.loc[is_shown, [*PIECE, CORRECTED, *SECONDS]].copy()
    is_between = rows["stage"] == BETWEEN_STAGES
    between, rows = rows[is_between], rows[~is_between].copy()
    rows["stage"] = in_bars(rows["stage"], stages)
    rows["resource"] = rows["resource"].replace({each.value: each.published for each in Resource if each.published})
    rows["category"] = rows["category"].replace({label: each.published for label, each in CATEGORIES.items()})
    rows = pd.concat([rows, between])
    folded = summed(rows)
    return Folded(folded, max(0.0, whole_s - float(folded["seconds"].sum())), evaluation_s)


def in_bars(stage: pd.Series, stages: tuple[str, ...]) -> pd.Series:
    """Return the stages, and of those that have no bar of their own, as a training loop, what they are published as."""
    return stage.replace({each.value: each.published for each in Stage if each.published and each.value not in stages})


def summed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of each piece of a figure."""
    return gpu_only(rows).groupby([*PIECE, CORRECTED], as_index=False)[SECONDS].sum()


def gpu_only(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in which what the GPU does alone is not said to be of the category in which the CPU waits for
    it.
    """
    return rows.assign(category=rows["category"].mask(rows["resource"].isin(GPU_ALONE), GPU_ONLY))


def fold_transitions(transitions: pd.DataFrame, stages: tuple[str, ...] = PUBLISHED_STAGES) -> pd.DataFrame:
    """Fold transitions as the published figures do: entries into the backend, CUDA and the simulator, per stage.

    Entries into the simulator outside simulation, and everything outside training, are left out; the analysis has left
    out those of evaluation.

    Args:
        transitions: rows of the analysis.
        stages: as for `fold_breakdown`.

    Returns:
        stage, category (the one entered), count, per_iteration and per_timestep (empty without progress reports).
    """
    rows = transitions.copy()
    rows["stage"] = in_bars(rows["stage"], stages)
    rows = rows.rename(columns={"to": "category"})
    in_simulation = (rows["category"] != Category.SIMULATOR.label) | (rows["stage"] == SIMULATION)
    shown = rows["stage"].isin(stages) & rows["category"].isin(PUBLISHED_TRANSITIONS) & in_simulation
    counts = ["count", "per_iteration", "per_timestep"]
    rows[counts] = rows[counts].astype(float)
    # min_count keeps what is unknown unknown: a sum of nothing is not zero transitions per iteration.
    return rows[shown].groupby(["stage", "category"], as_index=False)[counts].sum(min_count=1)
