"""This file makes the breakdown and the transitions of a trace, row by row, and sums over the breakdown."""

from collections import Counter
from collections.abc import Sequence, Set

from rlscope.analysis.correction.corrected import CorrectedProcess, times_of
from rlscope.analysis.lines.tables import LineRow
from rlscope.analysis.rows import Record, Rows, Value, sums
from rlscope.analysis.run import RunProgress
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.table_rows import BreakdownRow, CallRow, ThreadRow, TransitionRow
from rlscope.errors import UsageError
from rlscope.model import NS_PER_S

CORRECTED = ("corrected_seconds", "corrected_low_s", "corrected_high_s")
_COUNTS = ("count", "stacks")
_NUMBERS = (*_COUNTS, "seconds", *CORRECTED)
_TAKES = f"--by takes columns out of {', '.join(ThreadRow.columns()[:-1])}, function, line"
_FUNCTION_TAKES = f"with function, --by takes {', '.join(CallRow.columns()[:-3])}"
_LINE_TAKES = f"with line, --by takes {', '.join(LineRow.columns()[:-2])}"


def group_seconds(
    rows: Rows[BreakdownRow] | Rows[ThreadRow] | Rows[CallRow] | Rows[LineRow], columns: Sequence[str]
) -> list[Record]:
    """Sum the seconds of a breakdown (of `threads`, or of `calls` or `lines` with their number) over all but columns.

    So are corrected seconds, where there are any, and the ends of their intervals, which makes one that is at least as
    wide as that of the sum.

    Thread numbers count within a process, so grouping by `thread` also groups by `process`. `function` alone sums over
    nothing. By `category`:

        operation  category  seconds            category  seconds
        step       python        1.0            python        1.5
        step       backend       2.0     ->     backend       2.0
        (none)     python        0.5

    Raises:
        UsageError: the rows have no such column.
    """
    known = [name for name in rows.row_class.columns() if name not in _NUMBERS]
    for name in columns:
        if name not in known:
            takes = {CallRow: _FUNCTION_TAKES, LineRow: _LINE_TAKES}.get(rows.row_class, _TAKES)
            raise UsageError(f"{takes}, but {name!r} was given")
    keys = list(dict.fromkeys(["process", *columns] if "thread" in columns else columns))
    keys = known if keys == ["function"] else keys
    keyed: list[tuple[tuple[Value, ...], BreakdownRow | ThreadRow | CallRow | LineRow]] = [
        (tuple(getattr(row, key) for key in keys), row) for row in rows
    ]
    numbers = [name for name in _NUMBERS if any(getattr(row, name, None) is not None for row in rows)] or ["seconds"]
    summed = [sums((key, getattr(row, name) or 0.0) for key, row in keyed) for name in numbers]
    return [
        dict(zip(keys, key, strict=True))
        | {name: int(of[key]) if name in _COUNTS else of[key] for name, of in zip(numbers, summed, strict=True)}
        for key in summed[0]
    ]


def breakdown_rows(swept: TraceSweep, corrected: list[CorrectedProcess] | None) -> Rows[BreakdownRow]:
    """Make the rows of `Analysis.breakdown`; `corrected` has one entry for each process."""
    rows: list[BreakdownRow] = []
    for place, process in enumerate(swept.processes):
        found = process.found.breakdown
        lengths = process.file.clock.partition_ns(process.found.start_ticks, (row.ticks for row in found))
        seconds = {row.key: ns / NS_PER_S for row, ns in zip(found, lengths, strict=True)}
        times = corrected[place].rows if corrected is not None else {}
        # Correction adds rows: time that a device worked through, and that the CPU had from recording alone.
        keys = [*seconds, *(key for key in times if key not in seconds)]
        rows += [BreakdownRow(process.name, *key, seconds.get(key, 0.0), *times_of(times.get(key))) for key in keys]
    return Rows(BreakdownRow, rows)


def thread_rows(swept: TraceSweep) -> Rows[ThreadRow]:
    """Make the rows of `Analysis.threads`: each thread's own view."""
    rows: list[ThreadRow] = []
    for process in swept.processes:
        found = process.found.threads
        lengths = process.file.clock.partition_ns(process.found.start_ticks, (row.ticks for row in found))
        rows += [
            ThreadRow(
                process.name,
                row.thread,
                row.phase,
                row.stage,
                row.operation,
                row.category,
                row.resource,
                row.ready_in,
                row.outer_stage,
                ns / NS_PER_S,
            )
            for row, ns in zip(found, lengths, strict=True)
        ]
    return Rows(ThreadRow, rows)


def transition_rows(swept: TraceSweep, progress: RunProgress, evaluating: Set[str]) -> Rows[TransitionRow]:
    """Make the rows of `Analysis.transitions`.

    Transitions of evaluation are left out of the processes named in `evaluating`, which evaluate beside their training.
    """
    rows = []
    for process in swept.processes:
        found = process.found.transitions
        if process.name not in evaluating:
            found = [*found, *process.found.evaluation_transitions]
        counts: Counter[tuple[str, str, str, str]] = Counter()
        for row in found:
            counts[row.stage, row.operation, row.from_category, row.to_category] += row.entries
        rows += [
            TransitionRow(
                process.name,
                *key,
                count,
                count / progress.iterations if progress.iterations else None,
                count / progress.timesteps if progress.timesteps else None,
            )
            for key, count in counts.items()
        ]
    return Rows(TransitionRow, rows)
