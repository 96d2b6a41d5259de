"""The training loop of each process: what of its time lies in it, and what before and after it."""

import pandas as pd

from rlscope.analysis.sweep import NS_PER_S, TraceSweep
from rlscope.model import EVALUATION, NO_OPERATION, NO_PHASE

OUTSIDE_COLUMNS = ("process", "part", "category", "resource", "seconds")
#: Parts of a process's time in no operation.
BEFORE, BETWEEN, AFTER = "before", "in", "after"
#: The part of a process that has phases only: they do not say where its loop is.
NO_PHASE_PART = "no phase"
_TIMES = ("seconds", "uncorrected_seconds", "corrected_seconds", "corrected_low_s", "corrected_high_s")
_KINDS = ["process", "category", "resource"]


def outside_table(swept: TraceSweep) -> pd.DataFrame:
    """The time in no operation and no phase by part, with the columns of `OUTSIDE_COLUMNS`."""
    rows = [
        (process.name, *row, process.length_ns(ticks) / NS_PER_S)
        for process in swept.processes
        for *row, ticks in process.found["outside"]
    ]
    return pd.DataFrame(rows, columns=list(OUTSIDE_COLUMNS)).astype({"seconds": float})


def is_named(breakdown: pd.DataFrame) -> "pd.Series[bool]":
    """Which rows of a breakdown are of an operation or of a phase."""
    return (breakdown["operation"] != NO_OPERATION) | (breakdown["phase"] != NO_PHASE)


def is_evaluation(breakdown: pd.DataFrame, outside: pd.DataFrame | None) -> "pd.Series[bool]":
    """Which rows of a breakdown are of evaluation beside training.

    A process that shows nothing else has no training from which to tell it: then evaluation is what it is for.
    """
    found = breakdown["phase"] == EVALUATION
    return found & breakdown["process"].isin(with_loops(breakdown[~found], outside))


def evaluation_seconds(breakdown: pd.DataFrame, outside: pd.DataFrame) -> dict[str, float]:
    """How long each process evaluated beside its training; only those that did."""
    rows = breakdown[is_evaluation(breakdown, outside)]
    found: dict[str, float] = rows.groupby("process", sort=False)["seconds"].sum().to_dict()
    return found


def left_out(breakdown: pd.DataFrame, outside: pd.DataFrame) -> dict[str, dict[str, float]]:
    """The seconds of each process that are not in its loop, by part; evaluation is one."""
    shows_loop = (breakdown["operation"] != NO_OPERATION) & (breakdown["phase"] != EVALUATION)
    in_operations = {*breakdown.loc[shows_loop, "process"]}
    bounded = in_operations | {*outside.loc[outside["part"] != BEFORE, "process"]}
    found: dict[str, dict[str, float]] = {}
    for process, part, seconds in zip(outside["process"], outside["part"], outside["seconds"], strict=True):
        if part != BETWEEN:
            parts = found.setdefault(process, {})
            name = part if process in bounded else NO_PHASE_PART
            parts[name] = parts.get(name, 0.0) + seconds
    for process, seconds in evaluation_seconds(breakdown, outside).items():
        found.setdefault(process, {})[EVALUATION] = seconds
    return found


def with_loops(breakdown: pd.DataFrame, outside: pd.DataFrame | None) -> set[str]:
    """The processes that show where their loop is: by operations, phases or reports of progress."""
    between = {*outside.loc[outside["part"] == BETWEEN, "process"]} if outside is not None else set()
    return {*breakdown.loc[is_named(breakdown), "process"], *between}


def loop_breakdown(breakdown: pd.DataFrame, outside: pd.DataFrame) -> pd.DataFrame:
    """What of a breakdown lies in operations, in phases or between them in the training loop.

    Rows of evaluation have no seconds, other ones of operations and phases stay as they are. Of 10 s of Python in
    neither, of which 6 lie before the loop and 4 in it, 4 s stay, and of the corrected seconds the same share.

    Args:
        breakdown: the table of an analysis, or rows of it.
        outside: the table of the same analysis.
    """
    whole_s = outside.groupby(_KINDS)["seconds"].sum()
    between_s = outside[outside["part"] == BETWEEN].groupby(_KINDS)["seconds"].sum()
    shares = (between_s / whole_s).fillna(0.0).to_dict()
    keys = zip(*(breakdown[name] for name in _KINDS), strict=True)
    share = pd.Series([shares.get(key, 0.0) for key in keys], index=breakdown.index, dtype=float)
    times = [name for name in _TIMES if name in breakdown.columns]
    found = breakdown.copy()
    share = share.where(~is_named(breakdown), 1.0).mask(is_evaluation(breakdown, outside), 0.0)
    found[times] = found[times].mul(share, axis="index")
    return found
