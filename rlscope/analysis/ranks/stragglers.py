"""This file finds the ranks that keep the others waiting, and what they do more than the others."""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import groupby

from rlscope.analysis.averages import mean
from rlscope.analysis.ranks.matching import Collective
from rlscope.analysis.ranks.rows import StragglerRow
from rlscope.analysis.ranks.tables import is_communication
from rlscope.analysis.rows import Rows, sums
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.table_rows import BreakdownRow, ProcessRow, WaitRow
from rlscope.model import NO_OPERATION, NO_PHASE, NS_PER_S, Category

#: The calls are looked at in so many parts, one after the other: chance does not favour one rank in nearly all of them.
PARTS = 20
#: In so large a share of the parts a straggler keeps the others longest. Of two equal ranks, one does so in one of 400
#: runs.
LEADS = 0.85
#: The others wait for a straggler for at least this share of the time.
LEAST_SHARE = 0.02
#: What a rank did: a layer and the stage, or a function in which it waited and "".
Cause = tuple[str, str]


class _Kept:
    """Adds up how long a rank kept the others, in nanoseconds."""

    def __init__(self) -> None:
        self.calls = 0
        self.late_ns = 0
        self.others_wait_ns = 0.0
        self.led = 0


def straggler_rows(
    swept: TraceSweep,
    collectives: Iterable[Collective],
    processes: Sequence[ProcessRow],
    breakdown: Sequence[BreakdownRow],
    waits: Sequence[WaitRow],
) -> Rows[StragglerRow]:
    """Make one row per rank that was ever the last, of each run of ranks in the trace; the longest first."""
    loops_ns = _loops(swept)
    matched = [
        collective
        for collective in collectives
        if collective.is_matched and len(collective.parts) > 1 and _is_in_loops(collective, loops_ns)
    ]
    if not matched:
        return Rows(StragglerRow, [])
    matched.sort(key=lambda collective: (collective.communicator.job, collective.last_ns))
    iterations = {row.process: row.iterations for row in processes}
    done_s = _done(breakdown, waits, loops_ns.keys())
    rows: list[StragglerRow] = []
    for _, of_job in groupby(matched, key=lambda collective: collective.communicator.job):
        calls = list(of_job)
        span_s = _span_ns(calls) / NS_PER_S
        names = sorted({part.process for call in calls for part in call.parts})
        for name, kept in _kept_by_rank(calls).items():
            cause, cause_s = _excess(name, names, done_s)
            rows.append(_row(name, kept, iterations[name], span_s, cause, cause_s))
    return Rows(StragglerRow, sorted(rows, key=lambda row: -row.late_s))


def _row(name: str, kept: _Kept, iterations: int, span_s: float, cause: Cause, cause_s: float) -> StragglerRow:
    late_s, others_wait_s = kept.late_ns / NS_PER_S, kept.others_wait_ns / NS_PER_S
    leads = kept.led / PARTS
    return StragglerRow(
        process=name,
        calls=kept.calls,
        late_s=late_s,
        per_iteration_s=late_s / iterations if iterations else None,
        others_wait_s=others_wait_s,
        span_s=span_s,
        speedup=span_s / (span_s - late_s) if late_s < span_s else None,
        leads=leads,
        stands_out=leads >= LEADS and others_wait_s >= LEAST_SHARE * span_s,
        cause=cause[0],
        stage=cause[1],
        cause_s=cause_s,
    )


def _loops(swept: TraceSweep) -> dict[str, tuple[int, int]]:
    """Return from when to when each process was in its training loop, of those that show where that is."""
    found: dict[str, tuple[int, int]] = {}
    for process in swept.processes:
        if process.found.loop is not None:
            start, end = process.found.loop
            clock = process.file.clock
            found[process.name] = (clock.realtime_ns(start), clock.realtime_ns(end))
    return found


def _is_in_loops(collective: Collective, loops_ns: Mapping[str, tuple[int, int]]) -> bool:
    """Tell whether all members made the call in their training loops: before, they may start up at any pace."""
    for part in collective.parts:
        start_ns, end_ns = loops_ns.get(part.process, (part.called_ns, part.called_ns))
        if not start_ns <= part.called_ns <= end_ns:
            return False
    return True


def _span_ns(calls: Sequence[Collective]) -> int:
    parts = [part for call in calls for part in call.parts]
    return max(part.ended_ns or part.called_ns for part in parts) - min(part.called_ns for part in parts)


def _kept_by_rank(calls: Sequence[Collective]) -> dict[str, _Kept]:
    """Return how long each rank kept the others, of those that were the last in any of these calls."""
    found: dict[str, _Kept] = {}
    for part in range(PARTS):
        in_part: dict[str, int] = {}
        for call in calls[len(calls) * part // PARTS : len(calls) * (part + 1) // PARTS]:
            *_, last_but_one, last = sorted(call.parts, key=lambda each: each.called_ns)
            others_ns = [each.wait_ns(last.called_ns) for each in call.parts if each is not last]
            late_ns = min(last.called_ns - last_but_one.called_ns, max(others_ns))
            kept = found.setdefault(last.process, _Kept())
            kept.calls += 1
            kept.late_ns += late_ns
            kept.others_wait_ns += mean(others_ns)
            in_part[last.process] = in_part.get(last.process, 0) + late_ns
        if any(in_part.values()):
            found[max(in_part, key=lambda name: in_part[name])].led += 1
    return found


def _done(
    breakdown: Iterable[BreakdownRow], waits: Iterable[WaitRow], with_loops: Set[str]
) -> dict[tuple[str, Cause], float]:
    """Return the seconds of each process by layer and stage, and of its waits but for other ranks.

    They are those in operations, and waits in phases and in the training loop; of a process that does not show its
    loop, all of them. What a rank does to evaluate keeps the others waiting as well.
    """
    work = (
        ((row.process, (row.category, row.stage)), row.seconds)
        for row in breakdown
        if row.category != Category.WAIT.label and (row.operation != NO_OPERATION or row.process not in with_loops)
    )
    waiting = (
        (
            (row.process, (row.function, "")),
            row.in_loop_s if row.process in with_loops and row.phase == NO_PHASE else row.wait_s,
        )
        for row in waits
        if not is_communication(row)
    )
    return sums([*work, *waiting])


def _excess(name: str, names: Sequence[str], done_s: Mapping[tuple[str, Cause], float]) -> tuple[Cause, float]:
    """Return what a rank did for longest beyond the mean of the others, and by how much."""
    others = [other for other in names if other != name]
    excess = {
        cause: seconds - mean(done_s.get((other, cause), 0.0) for other in others)
        for (process, cause), seconds in done_s.items()
        if process == name
    }
    cause = max(excess, key=lambda each: excess[each], default=("", ""))
    return (cause, excess[cause]) if excess.get(cause, 0.0) > 0 else (("", ""), 0.0)
