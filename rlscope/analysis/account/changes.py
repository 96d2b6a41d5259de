"""The changes that an account supports: what to do about a cause that has much of the loop's time."""

from collections.abc import Iterable, Iterator

from rlscope.analysis.account.account import AccountRow, group_name
from rlscope.analysis.account.causes import Cause
from rlscope.analysis.account.owner_path import OwnerPath
from rlscope.analysis.averages import mean
from rlscope.analysis.machines import CoreUse
from rlscope.analysis.rows import sums
from rlscope.model import Category
from rlscope.record.blocking import EVENTS, NETWORK, PIPE, PROCESS, TIMER
from rlscope.text import line_text, printable
from rlscope.text.numbers import digits, duration, percent

#: A cause with a smaller share of the time in which the run trains is not worth a change.
LEAST_SHARE = 0.1
#: They are no part of the time in which a run trains.
AROUND = (Cause.STARTING_UP, Cause.AFTERWARDS, Cause.RECORDING)
#: What is not the algorithm's own work may be the program's own code alone: environments, and what is in no stage.
_OWN = (Cause.SIMULATION, Cause.NO_STAGE, Cause.NO_LOOP)
_OF_CPU = tuple(category.label for category in (Category.PYTHON, Category.NATIVE, Category.BACKEND))
#: What to do about waits that are followed to no other process, by their kind.
_WAITS = {
    TIMER: "do not sleep while training",
    NETWORK: "ask for many answers at once, or beside the loop",
    PIPE: "read and write less often, and more at once",
    PROCESS: "start other programs less often, or beside the loop",
    EVENTS: "wait less often, or beside the loop",
}


def changes_of(account: Iterable[AccountRow], cores: CoreUse, path: OwnerPath | None) -> tuple[str, ...]:
    """Return the changes that the evidence supports, that of the cause with most time first; each is an order."""
    rows = [row for row in account if Cause(row.cause) not in AROUND]
    seconds = sums((Cause(row.cause), row.seconds) for row in rows)
    loop_s = sum(seconds.values())
    if not cores.is_own_doing:  # what other programs take of the machine says nothing of what is worth a change
        loop_s -= seconds.get(Cause.NO_CORE, 0.0)
    found: list[tuple[float, str]] = []
    for cause, each in seconds.items():
        if each >= LEAST_SHARE * loop_s:
            found += [(each, change) for change in _changes(cause, cores, path)]
    found += _less_of(rows, loop_s)
    found += [each for row in rows if row.seconds >= LEAST_SHARE * loop_s for each in _shorter_waits(row, loop_s, path)]
    return tuple(printable(change) for _, change in sorted(found, key=lambda each: -each[0]))


def _changes(cause: Cause, cores: CoreUse, path: OwnerPath | None) -> Iterator[str]:
    if cause is Cause.NO_CORE:
        yield from _fewer_threads(cores)
    elif cause is Cause.SLOWEST and path is not None:
        yield from _as_much_for_each(path)
    elif cause is Cause.MESSAGES and path is not None:
        yield from _in_one_process(path)
    elif cause.change:
        yield cause.change


def _less_of(rows: Iterable[AccountRow], loop_s: float) -> Iterator[tuple[float, str]]:
    """Yield what to do less of the program's own code and of what it calls, where nothing else depends on it."""
    found: list[list[AccountRow]] = []
    for row in rows:
        if row.apart and Cause(row.cause) in _OWN and row.category in _OF_CPU:
            same = next((each for each in found if _are_one(each[0], row)), None)
            if same is None:
                found.append([row])
            else:
                same.append(row)
    for same in found:
        seconds = sum(row.seconds for row in same)
        if seconds >= LEAST_SHARE * loop_s:
            share, place = percent(seconds / loop_s), _place(same[0])
            yield seconds, f"call {same[0].apart} less often, or make it cheaper: {share} of the loop pass at {place}"


def _are_one(row: AccountRow, other: AccountRow) -> bool:
    """Return whether two rows, of two layers or processes, are of one function or of one line."""
    return row.file == other.file and (row.apart == other.apart or row.line == other.line)


def _shorter_waits(row: AccountRow, loop_s: float, path: OwnerPath | None) -> Iterator[tuple[float, str]]:
    """Yield what to do about a wait that is for no process, of the one that paces or of those that it waits for."""
    if row.cause != Cause.WAITING or not row.line or path is None:
        return
    waits = [wait for wait in path.unfollowed if wait.function == row.on]
    waits += [group.idle[1] for group in path.followed if group.idle is not None and group_name(group.names) == row.on]
    for wait in waits:
        if wait.kind in _WAITS:
            yield (
                row.seconds,
                f"{_WAITS[wait.kind]}: {percent(row.seconds / loop_s)} of the loop are waits at {_place(row)}",
            )


def _place(row: AccountRow) -> str:
    return line_text(row.file, row.line)


def _fewer_threads(cores: CoreUse) -> Iterator[str]:
    if cores.usable is not None and cores.is_own_doing:
        yield (
            f"run fewer processes or threads: {digits(cores.wanted)} processes want {digits(cores.usable)} cores at "
            "once; OMP_NUM_THREADS=1, or torch.set_num_threads(1), gives each of them one thread for its operators"
        )


def _as_much_for_each(path: OwnerPath) -> Iterator[str]:
    """Say which process works longer than the others that are waited for with it."""
    for group in path.followed:
        if group.slowest is not None and group.slowest_s > 0:
            works_s = [work.total_s for work in group.works]
            slowest_s = works_s.pop(group.slowest)
            yield (
                f"give {group.names[group.slowest]} less to do, or do not wait for all: it works for "
                f"{duration(slowest_s)}, the others for {duration(mean(works_s))} on average"
            )


def _in_one_process(path: OwnerPath) -> Iterator[str]:
    """Say of whom it waited that their work would take less time in the process itself, by much of the waits."""
    for group in path.followed:
        work_s = sum(work.total_s for work in group.works)
        if work_s < (1 - LEAST_SHARE) * group.wait_s and len(group.works) > 1:
            yield (
                f"do the work of the {len(group.names)} processes in {path.process} itself: all of it takes "
                f"{duration(work_s)}, the waits for it {duration(group.wait_s)}"
            )
