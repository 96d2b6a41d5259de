"""The changes that an account supports: what to do about a cause that has much of the loop's time."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rlscope.analysis.account.account import IMPORTING, AccountRow, group_name
from rlscope.analysis.account.causes import Cause
from rlscope.analysis.account.device_changes import device_changes
from rlscope.analysis.account.owner_path import OwnerPath
from rlscope.analysis.averages import mean
from rlscope.analysis.devices.rows import DeviceWorkRow, LaunchRow
from rlscope.analysis.machines import CoreUse
from rlscope.analysis.rows import sums
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.table_rows import BreakdownRow
from rlscope.analysis.tables.crossings import CrossingRow
from rlscope.analysis.tables.durations import DurationRow
from rlscope.model import ANOMALIES, COMPILING, INFERENCE, Category
from rlscope.record.blocking import EVENTS, LOCK, NETWORK, PIPE, PROCESS, TIMER
from rlscope.text import encodable, line_text, printable
from rlscope.text.numbers import digits, duration, percent

#: A cause with a smaller share of the time in which the run trains is not worth a change.
LEAST_SHARE = 0.1
#: They are no part of the time in which a run trains.
AROUND = (Cause.STARTING_UP, Cause.AFTERWARDS, Cause.RECORDING)
#: What one process would not do of what several do for it.
_OF_SEVERAL = (Cause.MESSAGES, Cause.PICKLING, Cause.NO_CORE, Cause.SLOWEST, Cause.PROCESSES)
#: What is not the algorithm's own work may be the program's own code alone: environments, and what is in no stage.
_OWN = (Cause.SIMULATION, Cause.NO_STAGE, Cause.NO_LOOP)
_ANOMALIES = "do not detect anomalies of autograd while training: it looks at a stack in each operation"
_OF_CPU = tuple(category.label for category in (Category.PYTHON, Category.NATIVE, Category.BACKEND))
#: Where PyTorch's calls are shorter on average, their number takes time, and not what is in a batch.
_SHORT_S = 20e-6
#: One update in so many timesteps is often; where there is less than one in so many, networks answer for the policy.
_LONG_BETWEEN, _SELDOM_BETWEEN = 2, 10
_PYTORCH, _BACKWARD = "torch.", ".run_backward"
#: A `with` statement takes a lock by such a function; who waits for an answer of another thread calls others.
_OF_WITH = ".__enter__"
#: What to do about waits that are followed to no other process, by their kind.
_WAITS = {
    TIMER: "do not sleep while training",
    NETWORK: "ask for many answers at once, or beside the loop",
    PIPE: "read and write less often, and more at once",
    PROCESS: "start other programs less often, or beside the loop",
    EVENTS: "wait less often, or beside the loop",
    LOCK: "let others keep the lock for less time: no sleeping, waiting or computing under it",
}


class Noted(NamedTuple):
    """This is what the properties of a process say that its times do not.

    Attributes:
        anomalies: The file and the line on which autograd was told to detect anomalies; None if it does not.
        again: Which part of its compiling is of functions that it had compiled before, from 0 to 1; all if that is not
            known.
    """

    anomalies: tuple[str, int] | None = None
    again: float = 1.0


def noted_of(swept: TraceSweep, path: OwnerPath | None) -> Noted:
    """Return what the properties of the process that paces a run say, which may hold anything."""
    process = path.process if path is not None else ""
    properties = next((each.found.properties for each in swept.processes if each.name == process), {})
    directory = str(swept.trace.manifest.get("directory"))
    anomalies, again = None, 1.0
    match properties.get(ANOMALIES):
        case [str(file), int(line)]:
            anomalies = encodable(file).removeprefix(f"{directory.rstrip('/')}/"), line
    match properties.get(COMPILING):
        case {"ns": int(ns), "again_ns": int(again_ns)} if 0 <= again_ns <= ns > 0:
            again = again_ns / ns
    return Noted(anomalies, again)


class Batches(NamedTuple):
    """This says how often a process used its networks.

    Attributes:
        updates: How often gradients were computed.
        answers: How often networks were asked without one.
        timesteps: For so many timesteps.
        call_s: How long a call of PyTorch took on average.
    """

    updates: int
    answers: int
    timesteps: int
    call_s: float


def batches_of(
    swept: TraceSweep,
    crossings: Iterable[CrossingRow],
    breakdown: Iterable[BreakdownRow],
    path: OwnerPath | None,
    timesteps: int | None,
) -> Batches | None:
    """Return how often the process that paces a run used networks; None if never, or nothing tells of timesteps."""
    process = path.process if path is not None else ""
    counts = {row.boundary: row.count for row in crossings if row.process == process}
    counts = {boundary: count for boundary, count in counts.items() if boundary.startswith(_PYTORCH)}
    if not timesteps or not counts:
        return None
    updates = sum(count for boundary, count in counts.items() if boundary.endswith(_BACKWARD))
    times = [row for each in swept.processes if each.name == process for row in each.found.cpu_times]
    answers = sum(row.begins for row in times if (row.stage, row.operation) == (INFERENCE, INFERENCE))
    calls_s = sum(row.seconds for row in breakdown if (row.process, row.category) == (process, Category.BACKEND.label))
    return Batches(updates, answers, timesteps, calls_s / sum(counts.values()))


def changes_of(
    account: Iterable[AccountRow],
    cores: CoreUse,
    path: OwnerPath | None,
    noted: Noted,
    batches: Batches | None,
    durations: Iterable[DurationRow],
    devices: tuple[Iterable[LaunchRow], Iterable[DeviceWorkRow]],
) -> tuple[str, ...]:
    """Return the changes that the evidence supports, that of the cause with most time first; each is an order.

    Args:
        account: Of the run.
        cores: What it had of them.
        path: What paces it.
        noted: By the process that paces it.
        batches: Of it; None if nothing is known of them.
        durations: Of operations, of which some take longer each time.
        devices: Launches for which they waited, and what they did.
    """
    rows = [row for row in account if Cause(row.cause) not in AROUND and not _is_first_time(row)]
    seconds = sums((Cause(row.cause), row.seconds) for row in rows)
    loop_s = sum(seconds.values())
    if not cores.is_own_doing:  # what other programs take of the machine says nothing of what is worth a change
        loop_s -= seconds.get(Cause.NO_CORE, 0.0)
    found: list[tuple[float, str]] = []
    for cause, each in seconds.items():
        saved = each * noted.again if cause is Cause.COMPILE else each
        if cause is Cause.MESSAGES:  # without them there is nothing to pack
            saved += seconds.get(Cause.PICKLING, 0.0)
        if saved >= LEAST_SHARE * loop_s:
            found += [(saved, change) for change in _changes(cause, rows, cores, path)]
    update_s = seconds.get(Cause.UPDATE, 0.0)
    if update_s >= LEAST_SHARE * loop_s:
        found += [(update_s, change) for change in _cheaper_updates(noted.anomalies, batches)]
    inference_s = seconds.get(Cause.INFERENCE, 0.0)
    if inference_s >= LEAST_SHARE * loop_s:
        found += [(inference_s, change) for change in _more_at_once(batches, rows)]
    found += _less_of(rows, loop_s)
    found += [each for each in _as_long_as_at_first(durations, rows) if each[0] >= LEAST_SHARE * loop_s]
    found += [each for each in device_changes(*devices, rows, loop_s) if each[0] >= LEAST_SHARE * loop_s]
    found += [each for row in rows if row.seconds >= LEAST_SHARE * loop_s for each in _shorter_waits(row, loop_s, path)]
    return tuple(printable(change) for _, change in sorted(found, key=lambda each: -each[0]))


def _is_first_time(row: AccountRow) -> bool:
    """Return whether a row is of modules that are imported, as they are once, where no loop is known."""
    return row.cause != Cause.IMPORT and row.called.startswith(IMPORTING)


def _changes(cause: Cause, rows: Sequence[AccountRow], cores: CoreUse, path: OwnerPath | None) -> Iterator[str]:
    if cause is Cause.NO_CORE:
        yield from _fewer_threads(cores)
    elif cause is Cause.SLOWEST and path is not None:
        yield from _as_much_for_each(path)
    elif cause is Cause.MESSAGES and path is not None:
        yield from _in_one_process(path, rows)
    elif cause.change:
        yield cause.change


def _cheaper_updates(anomalies: tuple[str, int] | None, batches: Batches | None) -> Iterator[str]:
    if anomalies is not None:
        yield f"{_ANOMALIES}: {line_text(*anomalies)}"
    if batches is not None and batches.updates * _LONG_BETWEEN >= batches.timesteps and batches.call_s < _SHORT_S:
        yield (
            f"update less often, with larger batches: {batches.updates:,} updates for {batches.timesteps:,} timesteps, "
            f"of calls of PyTorch of {duration(batches.call_s)}, which larger batches hardly prolong"
        )


def _more_at_once(batches: Batches | None, rows: Iterable[AccountRow]) -> Iterator[str]:
    """Say that the policy answers for one timestep at a time, where updates do not ask networks as often."""
    if batches is None or batches.answers < batches.timesteps or batches.call_s >= _SHORT_S:
        return
    if batches.updates * _SELDOM_BETWEEN <= batches.timesteps:
        place = next((f" at {_place(row)}" for row in rows if row.cause == Cause.INFERENCE and row.line), "")
        yield (
            f"ask the policy once for all of several environments: {batches.answers:,} answers for "
            f"{batches.timesteps:,} timesteps{place}, of calls of PyTorch of {duration(batches.call_s)}, which larger "
            "batches hardly prolong"
        )


def _less_of(rows: Iterable[AccountRow], loop_s: float) -> Iterator[tuple[float, str]]:
    """Yield what to do less of the program's own code and of what it calls, where nothing else depends on it."""
    found: list[list[AccountRow]] = []
    for row in rows:
        if row.apart and Cause(row.cause) in _OWN and row.category in _OF_CPU:
            same = next((each for each in found if any(_are_one(other, row) for other in each)), None)
            if same is None:
                found.append([row])
            else:
                same.append(row)
    for same in found:
        seconds = sum(row.seconds * row.apart_share for row in same)
        if seconds >= LEAST_SHARE * loop_s:
            share, place = percent(seconds / loop_s), _place(same[0])
            function = next((row.apart for row in same if row.apart == row.function), same[0].apart)
            yield seconds, f"call {function} less often, or make it cheaper: {share} of the loop pass at {place}"


def _as_long_as_at_first(durations: Iterable[DurationRow], rows: Sequence[AccountRow]) -> Iterator[tuple[float, str]]:
    """Yield what to do about updates of which each takes longer, and what they take more than at first."""
    process = rows[0].process if rows else ""
    place = next((f" at {_place(row)}" for row in rows if row.cause == Cause.UPDATE and row.line), "")
    for row in durations:
        if row.grows and (row.process, row.operation) == (process, Cause.UPDATE.value):
            yield (
                row.count * (row.mean_s - row.first_s),
                f"let updates{place} not grow, from {duration(row.first_s)} to {duration(row.last_s)}: detach() what "
                "is kept from one to the next, so that none goes through those before it, or keep the sizes of batches",
            )


def _are_one(row: AccountRow, other: AccountRow) -> bool:
    """Return whether two rows, of two layers or processes, are of one function or line, or one calls the other."""
    is_one = row.apart == other.apart or row.line == other.line
    return row.file == other.file and (is_one or row.function == other.apart or other.function == row.apart)


def _shorter_waits(row: AccountRow, loop_s: float, path: OwnerPath | None) -> Iterator[tuple[float, str]]:
    """Yield what to do about a wait that is for no process, of the one that paces or of those that it waits for."""
    if row.cause != Cause.WAITING or not row.line or path is None:
        return
    waits = [wait for wait in path.unfollowed if wait.function == row.on]
    waits += [group.idle[1] for group in path.followed if group.idle is not None and group_name(group.names) == row.on]
    for wait in waits:
        if wait.kind in _WAITS and (wait.kind != LOCK or wait.function.endswith(_OF_WITH)):
            yield (
                row.seconds,
                f"{_WAITS[wait.kind]}: {percent(row.seconds / loop_s)} of the loop are waits at {_place(row)}",
            )


def _place(row: AccountRow) -> str:
    return line_text(row.file, row.line)


def _fewer_threads(cores: CoreUse) -> Iterator[str]:
    if cores.usable is not None and cores.wanted is not None and cores.is_own_doing:
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


def _in_one_process(path: OwnerPath, rows: Iterable[AccountRow]) -> Iterator[str]:
    """Say of whom it waited that their work would take less time in the process itself, by much of the waits.

    What they do for messages, and what they wait for cores, would not be there.
    """
    for group in path.followed:
        name = group_name(group.names)
        mean_s = sum(row.seconds for row in rows if row.on == name and Cause(row.cause) not in _OF_SEVERAL)
        work_s = len(group.works) * mean_s * (group.mean_s / group.worked_s if group.worked_s > 0 else 0.0)
        if work_s < (1 - LEAST_SHARE) * group.wait_s and len(group.works) > 1:
            yield (
                f"do the work of the {len(group.names)} processes in {path.process} itself: all of it takes "
                f"{duration(work_s)}, the waits for it {duration(group.wait_s)}"
            )
