"""The training loop of each process: what of its time lies in it, and what before and after it."""

import pandas as pd

from rlscope.analysis.sweep import NS_PER_S, TraceSweep
from rlscope.model import NO_OPERATION, NO_PHASE

OUTSIDE_COLUMNS = ("process", "part", "category", "resource", "seconds")
#: Parts of a process's time in no operation.
BEFORE, BETWEEN, AFTER = "before", "in", "after"
_TIMES = ("seconds", "corrected_seconds", "corrected_low_s", "corrected_high_s")
_KINDS = ["process", "category", "resource"]


def outside_table(swept: TraceSweep) -> pd.DataFrame:
    """The time in no operation and no phase, with the columns of `OUTSIDE_COLUMNS`; docs/analysis.md says what a part is."""
    rows = [
        (process.name, *row, process.length_ns(ticks) / NS_PER_S)
        for process in swept.processes
        for *row, ticks in process.found["outside"]
    ]
    return pd.DataFrame(rows, columns=list(OUTSIDE_COLUMNS)).astype({"seconds": float})


def is_named(breakdown: pd.DataFrame) -> "pd.Series[bool]":
    """Which rows of a breakdown are of an operation or of a phase."""
    return (breakdown["operation"] != NO_OPERATION) | (breakdown["phase"] != NO_PHASE)


def with_loops(breakdown: pd.DataFrame, outside: pd.DataFrame) -> set[str]:
    """The processes that show where their training loop is: by operations, phases or reports of progress."""
    return {*breakdown.loc[is_named(breakdown), "process"], *outside.loc[outside["part"] == BETWEEN, "process"]}


def loop_breakdown(breakdown: pd.DataFrame, outside: pd.DataFrame) -> pd.DataFrame:
    """What of a breakdown lies in operations, in phases or between them in the training loop.

    Rows of operations and phases stay as they are. Of 10 s of Python in neither, of which 6 lie before the loop and 4 in
    it, 4 s stay, and of the corrected seconds the same share.

    Args:
        breakdown: the table of an analysis, or rows of it.
        outside: the table of the same analysis.
    """
    seconds = outside.pivot_table(index=_KINDS, columns="part", values="seconds", aggfunc="sum", fill_value=0.0)
    whole_s = seconds.sum(axis="columns")
    between_s = seconds[BETWEEN] if BETWEEN in seconds else whole_s * 0.0
    shares = (between_s / whole_s.where(whole_s > 0)).fillna(0.0).to_dict()
    keys = zip(*(breakdown[name] for name in _KINDS), strict=True)
    share = pd.Series([shares.get(key, 0.0) for key in keys], index=breakdown.index, dtype=float)
    times = [name for name in _TIMES if name in breakdown.columns]
    found = breakdown.copy()
    found[times] = found[times].mul(share.where(~is_named(breakdown), 1.0), axis="index")
    return found
