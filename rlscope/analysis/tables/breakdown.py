"""The breakdown and the transitions of a trace as tables."""

from collections import Counter
from collections.abc import Sequence, Set
from typing import Any

import pandas as pd

from rlscope.analysis.correction import CorrectedProcess, times_of
from rlscope.analysis.progress import RunProgress
from rlscope.analysis.sweep import NS_PER_S, TraceSweep
from rlscope.errors import UsageError

CORRECTED = ("corrected_seconds", "corrected_low_s", "corrected_high_s")
BREAKDOWN_KEYS = ("process", "phase", "stage", "operation", "category", "resource")
THREAD_KEYS = ("process", "thread", *BREAKDOWN_KEYS[1:])
TRANSITION_KEYS = ("process", "stage", "operation", "from", "to")
TRANSITION_COLUMNS = (*TRANSITION_KEYS, "count", "per_iteration", "per_timestep")


def group_seconds(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Sums the seconds of a breakdown (or of `threads`) over all but the given columns.

    So are corrected seconds, where there are any, and the ends of their intervals, which makes one that is at least as
    wide as that of the sum.

    Thread numbers count within a process, so grouping by `thread` also groups by `process`. By `category`:

        operation  category  seconds            category  seconds
        step       python        1.0            python        1.5
        step       backend       2.0     ->     backend       2.0
        (none)     python        0.5

    Raises:
        UsageError: the table has no such column.
    """
    known = [name for name in THREAD_KEYS if name in table.columns]
    for name in columns:
        if name not in known:
            raise UsageError(f"--by takes columns out of {', '.join(THREAD_KEYS)}, but {name!r} was given")
    keys = list(dict.fromkeys(["process", *columns] if "thread" in columns else columns))
    corrected = [name for name in CORRECTED if name in table.columns and table[name].notna().any()]
    return table.groupby(keys, sort=False, as_index=False)[["seconds", *corrected]].sum()


def breakdown_table(swept: TraceSweep, corrected: list[CorrectedProcess] | None) -> pd.DataFrame:
    """The table `breakdown` of an analysis; `corrected` has one entry for each process."""
    rows: list[tuple[Any, ...]] = []
    for place, process in enumerate(swept.processes):
        found = process.found["breakdown"]
        lengths = process.file.clock.partition_ns(process.found["start_ticks"], (row[-1] for row in found))
        seconds = {row[:-1]: ns / NS_PER_S for row, ns in zip(found, lengths, strict=True)}
        times = corrected[place].rows if corrected is not None else {}
        # Correction adds rows: time that a device worked through, and that the CPU had from recording alone.
        keys = [*seconds, *(key for key in times if key not in seconds)]
        rows += [(process.name, *key, seconds.get(key, 0.0), *times_of(times.get(key))) for key in keys]
    columns = [*BREAKDOWN_KEYS, "seconds", *CORRECTED]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[-4:], float))


def threads_table(swept: TraceSweep) -> pd.DataFrame:
    """The table `threads` of an analysis: each thread's own view."""
    rows: list[tuple[Any, ...]] = []
    for process in swept.processes:
        found = process.found.get("threads", [])
        lengths = process.file.clock.partition_ns(process.found["start_ticks"], (row[-1] for row in found))
        rows += [(process.name, *row[:-1], ns / NS_PER_S) for row, ns in zip(found, lengths, strict=True)]
    return pd.DataFrame(rows, columns=[*THREAD_KEYS, "seconds"]).astype({"seconds": float})


def transitions_table(swept: TraceSweep, progress: RunProgress, evaluating: Set[str]) -> pd.DataFrame:
    """The table `transitions` of an analysis.

    Transitions of evaluation are left out of the processes named in `evaluating`, which evaluate beside their training.
    """
    rows = []
    for process in swept.processes:
        counts = Counter({row[:-1]: row[-1] for row in process.found["transitions"]})
        if process.name not in evaluating:
            counts.update({row[:-1]: row[-1] for row in process.found["evaluation_transitions"]})
        rows += [(process.name, *key, count) for key, count in counts.items()]
    table = pd.DataFrame(rows, columns=[*TRANSITION_KEYS, "count"])
    return table.assign(
        per_iteration=table["count"] / (progress.iterations or float("nan")),
        per_timestep=table["count"] / (progress.timesteps or float("nan")),
    )
