"""This file says of a run what stands out beside its account, and what the numbers do not know."""

from collections.abc import Iterable, Iterator

from rlscope.analysis.account.causes import Cause
from rlscope.analysis.account.words import backends
from rlscope.analysis.ranks.rows import StragglerRow
from rlscope.analysis.rows import sums
from rlscope.analysis.run_tables import RunTables
from rlscope.analysis.tables.loop import rows_by_part
from rlscope.analysis.tables.purposes import OF_PART
from rlscope.model import CATEGORIES, NO_OPERATION, NS_PER_S, STAGES, Category, LifePart, Purpose
from rlscope.text import line_text, printable
from rlscope.text.numbers import digits, duration, duration_ends, percent

#: What is in no stage, and what threads do beside each other, is worth a note from such a share of the run on.
LEAST_NOTED = 0.05
#: As many operations in no stage are named.
UNNAMED_SHOWN = 3
HOW_TO_NAME = (
    'Name what it does with `with rlscope.operation("simulation"):` around it, or without an edit with `rlscope record '
    f"--operation simulation=MODULE:FUNCTION`; {', '.join(STAGES[1:-1])} and {STAGES[-1]} are the other stages"
)
#: Operations that are for something else than training.
_OF_PURPOSE = frozenset(each.value for each in Purpose if each not in OF_PART.values())
#: Layers in which a thread works.
_WORKING = tuple(each.label for each in (Category.PYTHON, Category.NATIVE, Category.SIMULATOR, Category.BACKEND))
#: Who runs for a smaller part of its work waits for threads; that is said where it lacks such a part of the loop.
LEAST_RUN, LEAST_LOCKED = 0.5, 0.1
#: An operation that grows is worth a sentence where it has such a share of the run.
LEAST_GROWN = 0.05


def observations(tables: RunTables) -> list[str]:
    """Say what stands out, safe to be shown."""
    found = (
        *straggler_sentences(tables.stragglers), *device_sentences(tables), *evaluation_sentences(tables),
        *lock_sentences(tables),
        *longer_sentences(tables),
    )  # fmt: skip
    return [printable(sentence) for sentence in found]


def notes(tables: RunTables) -> list[str]:
    """Say what a reader of the account must know, and how more can be known, safe to be shown."""
    path = tables.path
    if path is None:
        return []
    found = []
    if path.beside_s >= LEAST_NOTED * path.total_s:
        found.append(
            f"Two or more threads were busy at once for {duration(path.beside_s)}, each in an operation of its own; a "
            "second counts for one of them only: `rlscope analyze --by thread,stage` shows each thread."
        )
    if not path.time.has_loop:
        found.append(
            f"Nothing that was recorded shows where the training loop of {path.process} is: it stepped no environment, "
            f"and called no network or optimizer, that is known. {HOW_TO_NAME}."
        )
    return [printable(sentence) for sentence in (*found, *_unnamed_sentences(tables, path.process))]


def _unnamed_sentences(tables: RunTables, process: str) -> Iterator[str]:
    """Say which operations of the loop are in no stage, and how to name what they do."""
    unnamed_s = sum(row.seconds for row in tables.account if row.cause == Cause.NO_STAGE and not row.on)
    if unnamed_s < LEAST_NOTED * sum(row.seconds for row in tables.account):
        return
    by_name = sums(
        (row.operation, row.seconds)
        for part, row in rows_by_part(tables.breakdown, tables.loops)
        if part is LifePart.LOOP
        and row.process == process
        and row.stage not in STAGES
        and row.operation not in _OF_PURPOSE
        and row.category not in (Category.WAIT.label, Category.NO_CORE.label)
    )
    listed = [
        f"{'between operations' if name == NO_OPERATION else name} {duration(seconds)}"
        for name, seconds in sorted(by_name.items(), key=lambda item: (-item[1], item[0]))[:UNNAMED_SHOWN]
        if seconds >= LEAST_NOTED * unnamed_s
    ]
    what = f" ({', '.join(listed)})" if listed else ""
    yield f"{duration(unnamed_s)} of the training loop are in no stage{what}. {HOW_TO_NAME}."


def evaluation_sentences(tables: RunTables) -> Iterator[str]:
    """Say which functions of the process look like tests of its policy, where that is much of the run."""
    wall_s = sum(row.seconds for row in tables.account)
    process = tables.path.process if tables.path else ""
    for row in tables.possible_evaluations:
        if row.process == process and row.seconds >= LEAST_NOTED * wall_s:
            yield (
                f"{duration(row.seconds)} of the training are in {row.function.rpartition('<locals>.')[2]}, "
                f"{line_text(row.file, row.line)}, which steps environments and calls networks and does not update "
                'them: if it tests the policy, decorate it with `@rlscope.phase("evaluation")`.'
            )


def longer_sentences(tables: RunTables) -> Iterator[str]:
    """Say of which operations each takes longer than the one before it, where that is much of the run."""
    wall_s = sum(row.seconds for row in tables.account)
    process = tables.path.process if tables.path else ""
    for row in tables.durations:
        if row.grows and row.process == process and row.count * row.mean_s >= LEAST_GROWN * wall_s:
            slope = duration_ends(row.slope_s, row.slope_low_s, row.slope_high_s)
            yield (
                f"Each {row.operation} takes longer than the one before it, by {duration(row.slope_s)} {slope}: "
                f"{duration(row.first_s)} at first, {duration(row.last_s)} at the end of {row.count:,}."
            )


def device_sentences(tables: RunTables) -> Iterator[str]:
    """Say for how much of the loop each device works, and why it does nothing for most of the rest."""
    loop_s = tables.life.loop_ns / NS_PER_S if tables.life is not None else 0.0
    idle_s = sums(((row.device, row.cause), row.seconds) for row in tables.device_idle)
    for gpu in tables.gpu:
        causes = {cause: seconds for (device, cause), seconds in idle_s.items() if device == gpu.device}
        if not causes or not loop_s:
            continue
        cause = max(causes, key=lambda cause: (causes[cause], cause))
        why = f"; idle for {percent(causes[cause] / loop_s)}: {cause}" if causes[cause] >= LEAST_NOTED * loop_s else ""
        yield f"GPU {gpu.device} works for {percent(max(0.0, 1 - sum(causes.values()) / loop_s))} of the loop{why}."


def lock_sentences(tables: RunTables) -> Iterator[str]:
    """Say that a process's calls of PyTorch mostly waited while other threads of it ran, which keep Python's lock.

    Who computes by a pool of threads computes beside them, so that it runs as well. That is not so where there is a
    device, another process to communicate with, another backend, or too many threads for the cores, of the run itself
    or of other programs: those of a pool are waited for when they have none.
    """
    path = tables.path
    are_without_cores = tables.cores.is_own_doing or tables.cores.is_others_doing
    if path is None or tables.gpu or tables.collectives or are_without_cores or backends(tables) != {"torch"}:
        return
    if any(row.process == path.process and row.threads_in_operations > 1 for row in tables.processes):
        return
    worked_s = sums(
        (row.operation, row.seconds)
        for row in tables.breakdown
        if row.process == path.process and row.category in _WORKING and row.operation != NO_OPERATION
    )
    worked = sum(worked_s.values())
    ran = sum(row.cpu_s for row in tables.cpu_times if row.process == path.process and row.operation in worked_s)
    if 0 < ran < LEAST_RUN * worked and worked - ran >= LEAST_LOCKED * path.total_s:
        yield (
            f"In its operations {path.process} ran for {duration(ran)} of {duration(worked)}, and for the rest other "
            "threads of it did. A thread of Python keeps the interpreter's lock: give its work to a process."
        )


def straggler_sentences(stragglers: Iterable[StragglerRow]) -> Iterator[str]:
    """Say of each rank that keeps the others how late it is, why, and what that costs at most."""
    for row in stragglers:
        if not row.stands_out:
            continue
        late = f"by {duration(row.late_s)} in {row.calls:,} calls"
        if row.per_iteration_s is not None:
            late = f"by {duration(row.per_iteration_s)} in each iteration"
        gain = "" if row.speedup is None else f"; without that at most {digits(row.speedup)} times as fast"
        share = percent(row.others_wait_s / row.span_s)
        yield f"{row.process} is late {late}{_what_makes_late(row)}: the others wait {share} of the time for it{gain}."


def _what_makes_late(row: StragglerRow) -> str:
    """Say what it does for longer than the others, if that is as long as a half of what it is late."""
    if row.cause_s < row.late_s / 2:
        return ""
    cause = CATEGORIES[row.cause].words if row.cause in CATEGORIES else row.cause
    where = f"{cause}{f' in {row.stage}' if row.stage else ''}"
    return f" ({where}, {duration(row.cause_s)} more than the others)"
