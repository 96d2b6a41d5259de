"""The changes that an account supports: what to do about a cause that has much of the loop's time."""

from collections.abc import Iterable, Iterator

from rlscope.analysis.account.account import AccountRow
from rlscope.analysis.account.causes import Cause
from rlscope.analysis.account.owner_path import OwnerPath
from rlscope.analysis.averages import mean
from rlscope.analysis.machines import CoreUse
from rlscope.analysis.rows import sums
from rlscope.text import printable
from rlscope.text.numbers import digits, duration

#: A cause with a smaller share of the time in which the run trains is not worth a change.
LEAST_SHARE = 0.1
#: They are no part of the time in which a run trains.
AROUND = (Cause.STARTING_UP, Cause.AFTERWARDS, Cause.RECORDING)


def changes_of(account: Iterable[AccountRow], cores: CoreUse, path: OwnerPath | None) -> tuple[str, ...]:
    """Return the changes that the evidence supports, that of the cause with most time first; each is an order."""
    seconds = sums((Cause(row.cause), row.seconds) for row in account)
    loop_s = sum(each for cause, each in seconds.items() if cause not in AROUND)
    found: list[str] = []
    for cause, each in sorted(seconds.items(), key=lambda item: -item[1]):
        if cause not in AROUND and each >= LEAST_SHARE * loop_s:
            found += _changes(cause, cores, path)
    return tuple(map(printable, found))


def _changes(cause: Cause, cores: CoreUse, path: OwnerPath | None) -> Iterator[str]:
    if cause is Cause.NO_CORE:
        yield from _fewer_threads(cores)
    elif cause is Cause.SLOWEST and path is not None:
        yield from _as_much_for_each(path)
    elif cause is Cause.MESSAGES and path is not None:
        yield from _in_one_process(path)
    elif cause.change:
        yield cause.change


def _fewer_threads(cores: CoreUse) -> Iterator[str]:
    if cores.usable is not None and cores.is_own_doing:
        yield (
            f"run fewer processes or threads: {digits(cores.wanted)} processes want {digits(cores.usable)} cores at "
            "once; OMP_NUM_THREADS=1 gives each of them one thread for its operators"
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
