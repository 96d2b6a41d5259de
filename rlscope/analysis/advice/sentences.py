"""The sentences in which advice is given: waits, causes, changes, what the numbers do not know."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from rlscope.analysis.account.counted_waits import Wait
from rlscope.analysis.account.findings import growth_sentences, straggler_sentences
from rlscope.analysis.account.kinds import NOTHING, OF_CATEGORY, STANDS_OUT, Bound, CauseTime, cause_times
from rlscope.analysis.account.owner_path import SAID, Followed, OwnerPath
from rlscope.analysis.advice.changes import ELSEWHERE, Change
from rlscope.analysis.machines import CoreUse
from rlscope.analysis.rows import sums
from rlscope.analysis.run_tables import RunTables
from rlscope.analysis.tables.purposes import OF_PART, seconds_beside_training
from rlscope.model import COMPILE, IMPORT, NO_OPERATION, PUBLISHED_STAGES, STAGES, Category, LifePart, Purpose
from rlscope.text import printable
from rlscope.text.numbers import digits, duration, percent

_S_PER_HOUR = 3600
#: A line with a smaller share is not worth naming.
LEAST_SHARE_OF_LINE = 0.05
#: A function, its file and a line in it.
Line = tuple[str, str, int]
#: As many operations in no stage are named.
UNNAMED_SHOWN = 3
HOW_TO_NAME = (
    'Name it with `with rlscope.operation("simulation"):` around it, or without an edit with `rlscope record '
    f"--operation simulation=MODULE:FUNCTION`; {', '.join(STAGES[1:-1])} and {STAGES[-1]} are the other stages"
)
#: A stage that has less of a cause is not all of it.
MOST = 0.99
#: The category that is entered with each call.
CALLS: dict[Bound, str] = {
    cause: label for label, cause in OF_CATEGORY.items() if cause not in (Bound.PYTHON, Bound.WAITING)
}


@dataclass(frozen=True)
class Sentences:
    """The sentences of advice, by what they are of, safe to be shown.

    Attributes:
        waits: The sentences on what the process waited in and for whom, and whether threads worked beside each other.
        causes: The sentences on where its time went.
        purposes: The sentence on what was not for training, if that was much.
        lines: The sentence on the line that had most of the largest cause, if lines are known.
        memory: The sentences on memory that grew to the end.
        changes: The sentences on what each change could save at most.
        limits: The sentences on what the numbers do not know.
    """

    waits: tuple[str, ...]
    causes: tuple[str, ...]
    purposes: tuple[str, ...]
    lines: tuple[str, ...]
    memory: tuple[str, ...]
    changes: tuple[str, ...]
    limits: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the paragraph."""
        return " ".join(
            chain(self.waits, self.causes, self.purposes, self.lines, self.memory, self.changes, self.limits)
        )


def sentences(tables: RunTables, path: OwnerPath, causes: Sequence[CauseTime], changes: Sequence[Change]) -> Sentences:
    """Says all that is known.

    Args:
        tables: of the run.
        path: its owner path.
        causes: of the path, the largest first.
        changes: to it, the one that could save most first; none where threads work beside each other.
    """
    waits = chain(
        _core_sentences(tables.cores, len(tables.processes), path, causes),
        straggler_sentences(tables.stragglers),
        _unfollowed_sentences(tables, path, causes),
        _followed_sentences(path),
        _beside_sentences(path),
    )
    return Sentences(
        tuple(map(printable, waits)),
        tuple(map(printable, _cause_sentences(tables, path, causes))),
        tuple(map(printable, _purpose_sentences(tables, path))),
        tuple(map(printable, line_sentences(tables, path.process, causes[0]))),
        tuple(map(printable, growth_sentences(tables.memory_growth))),
        tuple(map(printable, _change_sentences(path, changes))),
        tuple(map(printable, _limit_sentences(tables, path, changes))),
    )


def worth_trying(changes: Sequence[Change], total_s: float) -> list[str]:
    """Says what each change could do that might save enough of `total_s`, the best first; ELSEWHERE may be one text."""
    shown = [change for change in changes if change.saving_s >= SAID * total_s]
    groups = groupby(shown, key=lambda change: (round(change.saving_s, 9), change.name in ELSEWHERE or change.name))
    return [printable(_change_text(list(group))) for _, group in groups]


def _cause_sentences(tables: RunTables, path: OwnerPath, causes: Sequence[CauseTime]) -> Iterator[str]:
    first = causes[0]
    spent = f"{duration(first.seconds)} of {duration(path.total_s)} ({_of_path(path, first.seconds)})"
    spent += _where(path, first) + _calls(tables, path, first)
    if path.works_beside:
        yield f"Of the seconds as they are given to threads, the largest part is {first.cause.words}: {spent}."
    elif first.share < STANDS_OUT:
        yield f"Nothing stands out; the largest part is {first.cause.words}: {spent}."
    elif first.share > MOST:
        yield f"Bound by {first.cause.words}: {spent}."
    else:
        yield f"Bound by {first.cause.words}: {spent}; without it, {_speedup(path, first.seconds)}."
    rest = [each for each in causes[1:] if each.share >= SAID]
    if rest:
        listed = (f"{each.cause.words} {duration(each.seconds)} ({percent(each.share)})" for each in rest)
        yield f"Then {', '.join(listed)}."


def _purpose_sentences(tables: RunTables, path: OwnerPath) -> Iterator[str]:
    """Say what the process did in its loop, and for evaluation, that trains nothing."""
    seconds = {
        purpose: s
        for purpose, s in seconds_beside_training(tables.purposes, path.process).items()
        if purpose is Purpose.TRAINING or purpose not in OF_PART.values()
    }
    whole_s = sum(seconds.values())
    said = [
        f"{duration(s)} ({percent(s / whole_s)}) for {purpose.words}"
        for purpose, s in seconds.items()
        # Compiling and importing are causes of their own.
        if purpose not in (Purpose.TRAINING, Purpose.COMPILE, Purpose.IMPORT) and s >= SAID * whole_s
    ]
    if said:
        with_evaluation = " and evaluation" if Purpose.EVALUATION in seconds else ""
        yield f"Of {duration(whole_s)} of the loop{with_evaluation} {path.process} spent {', '.join(said)}."


def _where(path: OwnerPath, each: CauseTime) -> str:
    if each.stage == NO_OPERATION and (each.cause is Bound.SIMULATOR or not path.time.has_loop):
        return ""
    most = "" if each.stage_s > MOST * each.seconds else f"{duration(each.stage_s)} of it "
    return f", {most}in {'no stage' if each.stage == NO_OPERATION else each.stage}"


def _calls(tables: RunTables, path: OwnerPath, each: CauseTime) -> str:
    """Say how many calls the process itself made in the stage, and how long they were: many short or few long ones."""
    category = CALLS.get(each.cause)
    own_s = sum(s for kind, s in path.own.items() if (kind.bound, kind.stage) == (each.cause, each.stage))
    if category is None or each.stage == NO_OPERATION or own_s < MOST * each.stage_s:
        return ""
    calls = sum(
        row.count
        for row in tables.transitions
        if (row.process, row.stage, row.to) == (path.process, each.stage, category)
        and row.operation not in (COMPILE, IMPORT)
    )
    return f", {calls:,} entries of {duration(own_s / calls)}" if calls > 1 else ""


def _beside_sentences(path: OwnerPath) -> Iterator[str]:
    if not path.works_beside:
        return
    share = _of_path(path, path.beside_s)
    yield (
        f"Two or more threads were busy at once for {duration(path.beside_s)} ({share}), each in an operation of its "
        "own. A second counts for one of them only, and the run may end with another one, so no factor is given: "
        "`rlscope analyze --by thread,stage` shows each thread."
    )


def _unfollowed_sentences(tables: RunTables, path: OwnerPath, causes: Sequence[CauseTime]) -> Iterator[str]:
    """Say what the process waited in, but for nobody whose work is known."""
    of_process = f" of {path.process}" if len(tables.processes) > 1 else ""
    for wait in path.unfollowed:
        if wait.seconds < SAID * path.total_s:
            continue
        calls = f"{wait.count:,} calls of {duration(wait.seconds / wait.count)}" if wait.count > 1 else "1 call"
        share = _of_path(path, wait.seconds)
        spent = f"{duration(wait.seconds)}{of_process} ({share}){_stage_of(path, wait, causes)}"
        unknown = " It was for no process whose other end was recorded." if wait.is_for_process else ""
        gain = "" if path.works_beside else f": without it {_speedup(path, wait.seconds)}"
        what = f"{wait.function} ({wait.kind})" if wait.kind else wait.function
        yield f"{what}, {calls}, {spent}{gain}.{unknown}"


def _stage_of(path: OwnerPath, wait: Wait, causes: Sequence[CauseTime]) -> str:
    """Say where a wait was, as far as that is known: which waits were in which stage is not."""
    if not path.time.has_loop:
        return ""
    if wait.between_s > MOST * wait.seconds:
        return " between stages"
    if wait.between_s > (1 - MOST) * wait.seconds:
        return f", {duration(wait.between_s)} of it between stages"
    waiting = next((each for each in causes if each.cause is Bound.WAITING), None)
    is_known = waiting is not None and waiting.stage_s > MOST * waiting.seconds and waiting.stage != NO_OPERATION
    return f" in {waiting.stage}" if waiting is not None and is_known else ""


def _followed_sentences(path: OwnerPath) -> Iterator[str]:
    """Say whom the process waited for; what these did is in the causes."""
    for group in path.followed:
        if group.wait_s < SAID * path.total_s:
            continue
        others = "the slowest of them, to messages" if len(group.names) > 1 else "messages"
        spread = f"; the other {duration(group.spread_s)} went to {others} or to too few cores"
        yield (
            f"{path.process} waited {duration(group.wait_s)} for {_names(group)}, which needed {_needed(group)}"
            f"{spread if group.spread_s >= SAID * path.total_s else ''}{_assumed(group)}."
        )


def _needed(group: Followed) -> str:
    needed = duration(group.mean_s)
    if len(group.names) > 1:
        works_s = [work.total_s for work in group.works]
        needed += f" on average ({duration(min(works_s))} to {duration(max(works_s))})"
    if group.mean_s > 0:
        most = cause_times(group.mix)[0]
        needed += f", {percent(most.share)} of it {most.cause.words}"
    return needed


def _names(group: Followed) -> str:
    first = group.names[0]
    return first if len(group.names) == 1 else f"{first} and {len(group.names) - 1} more"


def _assumed(group: Followed) -> str:
    """Said where it is more than a rounding error of what was measured."""
    if group.assumed_s < SAID * group.wait_s:
        return ""
    return f" (that {duration(group.assumed_s)} of it were for them is assumed: the other end was not recorded)"


def _change_sentences(path: OwnerPath, changes: Sequence[Change]) -> Iterator[str]:
    if shown := worth_trying(changes, path.total_s):
        yield f"At most: {'; '.join(shown)}."
    elif changes:
        yield f"No change that is known here could save {percent(SAID)}."


def _change_text(same: Sequence[Change]) -> str:
    names = " or ".join(change.name for change in same)
    first = same[0]
    saved = f"{duration(first.saving_s)} less, if {first.assumption}"
    if first.speedup is None:
        return f"{names}, all of it ({saved})"
    return f"{names}, {digits(first.speedup)} times as fast ({saved})"


def _limit_sentences(tables: RunTables, path: OwnerPath, changes: Sequence[Change]) -> Iterator[str]:
    """Say what the numbers do not know."""
    known = {change.stage for change in changes}
    unknown = [stage for stage in PUBLISHED_STAGES if stage not in known]
    if unknown and not path.works_beside:
        yield f"No time of the path is in {' or '.join(unknown)}, so what a change there could save is not known."
    yield from _unnamed_sentences(tables, path)
    yield from _left_out_sentences(path)
    device_s = sum(seconds for kind, seconds in path.mix.items() if kind.bound in (Bound.GPU, Bound.OVERLAP))
    if device_s >= SAID * path.total_s and len({row.process for row in tables.gpu_operations}) > 1:
        yield "Other processes used a device too, so part of its time may be waiting for them."
    if not tables.complete:
        yield f"The trace is incomplete ({tables.dropped_events:,} records lost), so seconds may be missing."


def _unnamed_sentences(tables: RunTables, path: OwnerPath) -> Iterator[str]:
    """Say what is in no stage, and how to name it; waiting is named by function, compiling and importing are causes."""
    said_elsewhere = (Bound.WAITING, Bound.COMPILATION, Bound.IMPORT)
    unnamed_s = sum(s for kind, s in path.mix.items() if kind.is_in_no_stage and kind.bound not in said_elsewhere)
    if not path.time.has_loop or unnamed_s < SAID * path.total_s:
        return
    by_name = sums(
        (row.operation, row.seconds * tables.loops.share(row))
        for row in tables.breakdown
        if row.process == path.process
        and row.stage not in STAGES
        and row.operation not in (COMPILE, IMPORT)
        and row.category not in (Category.SIMULATOR.label, Category.WAIT.label)
    )
    listed = (
        f"{'between stages' if name == NO_OPERATION else name} {duration(seconds)}"
        for name, seconds in sorted(by_name.items(), key=lambda item: (-item[1], item[0]))[:UNNAMED_SHOWN]
        if seconds >= (1 - MOST) * path.total_s
    )
    what = ", ".join(listed)
    yield (
        f"{duration(unnamed_s)} ({_of_path(path, unnamed_s)}) are in no stage{f' ({what})' if what else ''}, "
        f"so no change covers them. {HOW_TO_NAME}."
    )


def _left_out_sentences(path: OwnerPath) -> Iterator[str]:
    if not path.time.has_loop:
        yield f"No operation or phase was recorded, so all seconds of {path.process} count, starting up too."
        return
    parts = path.time.left_out.items()
    said = [
        f"{duration(seconds)} {part.words}"
        for part, seconds in parts
        if part is LifePart.EVALUATION or seconds >= SAID * path.total_s
    ]
    if said:
        yield f"Left out of {path.process}: {', and '.join(said)}."


def _of_path(path: OwnerPath, seconds: float) -> str:
    """Say which share of the path that is: of the loop, not of the wall time, where the loop is known."""
    return f"{percent(seconds / path.total_s)}{' of the loop' if path.time.has_loop else ''}"


def _speedup(path: OwnerPath, seconds: float) -> str:
    rest_s = path.total_s - seconds
    if rest_s <= NOTHING * path.total_s:
        return "nothing is left"
    return f"at most {digits(path.total_s / rest_s)} times as fast"


def _core_sentences(cores: CoreUse, processes: int, path: OwnerPath, causes: Iterable[CauseTime]) -> Iterator[str]:
    """Say who wanted the cores, where the run waited for one: its own processes, other programs, a quota, the host."""
    share = max([cores.no_core_share, *(each.share for each in causes if each.cause is Bound.NO_CORE)])
    if share < SAID or cores.usable is None:
        return
    ready = ""
    if cores.ready_threads is not None:
        ready = f"{digits(cores.ready_threads)} threads of all programs were ready to run on average, and "
    elif cores.load_at_end is not None:
        ready = f"the load average was {digits(cores.load_at_end)} at the end, and "
    of_machine = "" if cores.cores in (None, cores.usable) else f" of the machine's {cores.cores}"
    run = "this run has 1 process" if processes == 1 else f"this run has {processes:,} processes"
    yield (
        f"Too few cores: {ready}{run} and may use {digits(cores.usable)} "
        f"{'core' if cores.usable == 1 else 'cores'}{of_machine}."
    )
    for seconds, who in ((cores.throttled_s, "A quota"), (cores.stolen_s, "The host")):
        if seconds is not None and seconds >= SAID * path.total_s * cores.usable:
            yield f"{who} kept cores busy elsewhere or idle for {duration(seconds)} of their time, all cores together."


def line_sentences(tables: RunTables, process: str, cause: CauseTime) -> Iterator[str]:
    """Name the line of a process that had most of a cause in the stage in which most of it was.

    It says nothing if stacks were not looked at, or where no line has a share that is worth naming.
    """
    found = _largest_line(_times_of_lines(tables, (process, cause.stage), cause.cause))
    if found is None:
        return
    (function, file, line), seconds, share = found
    place = f"{file}:{line} ({function})"
    if cause.cause is Bound.PYTHON:
        yield f"{percent(share)} of Python's time in {cause.stage} ({duration(seconds)}) is in {place}."
    elif cause.cause is Bound.GPU:
        yield f"{percent(share)} of the waits for the GPU in {cause.stage} ({duration(seconds)}) are in {place}."
    else:
        of_cause = f"the time of {cause.cause.words} in {cause.stage}"
        yield f"About {percent(share)} of {of_cause} is of calls in {place}."


def _times_of_lines(tables: RunTables, where: tuple[str, str], cause: Bound) -> Iterator[tuple[Line, float]]:
    """Yield lines with their seconds; `where` is a process and a stage."""
    if cause is Bound.PYTHON:
        for line in tables.lines:
            if (line.process, line.stage) == where:
                yield (line.function, line.file, line.line), line.seconds
    elif cause is Bound.GPU:
        for point in tables.sync_points:
            if (point.process, point.stage) == where:
                of_line = point.line_stacks / point.stacks if point.stacks else 0.0
                yield (point.caller, point.file, point.line), of_line * point.seconds
                yield ("", "", 0), (1 - of_line) * point.seconds
    elif cause is not Bound.WAITING:  # of which calls are no part: waits have lines of their own
        for site in tables.call_sites:
            if (site.process, site.stage) == where and OF_CATEGORY[site.category] is cause:
                yield (site.caller, site.file, site.line), site.seconds


def _largest_line(seconds: Iterable[tuple[Line, float]]) -> tuple[Line, float, float] | None:
    """Return the line with most seconds, these, and their share of all; None if that is not worth naming."""
    found = sums(seconds)
    known = {line: taken for line, taken in found.items() if line[2]}
    if not known:
        return None
    line = max(known, key=lambda each: known[each])
    share = known[line] / sum(found.values()) if known[line] else 0.0
    return (line, known[line], share) if share >= LEAST_SHARE_OF_LINE else None
