"""The account of a run: where the wall time of the process that paces it went, by causes that sum to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

from rlscope.analysis.account.causes import Cause
from rlscope.analysis.account.kinds import Bound, Kind
from rlscope.analysis.account.operator_threads import operator_thread_shares
from rlscope.analysis.account.owner_path import Followed, OwnerPath
from rlscope.analysis.lines.own_lines import DOING, OwnLine, OwnLines, bare_name, is_public
from rlscope.analysis.rows import Row, Rows, sums
from rlscope.analysis.table_rows import BreakdownRow, CpuTimeRow
from rlscope.analysis.tables.purposes import OF_PART, PurposeRow
from rlscope.model import NS_PER_S, STAGES, Category, LifePart, Purpose, Resource
from rlscope.record.blocking import DISK

if TYPE_CHECKING:
    from rlscope.analysis.hang.hang import Hang


class AccountRow(Row):
    """A cause of the wall time of the process that paces the run. The seconds sum to its `wall_s`.

    Where recording is calibrated, what it added is a cause of its own, and is in no other one.

    Attributes:
        process: The process.
        cause: What the time was for, or what held it up: `evaluation`, `no_core`, `simulation`, ...
        stage: The stage of what was done, by the process itself or by those that it waited for; empty: of several.
        category: The layer of the stack, the same way; empty: of several.
        module: Of native code the library, or the package, whose functions have nearly all of it by the stacks that
            show it, as `libphysics`; else empty.
        on: The processes that it waited for, or the function in which it did; else empty.
        seconds: How long.
        share: Of the wall time, from 0 to 1.
        assumed: Whether the seconds are a share of a wait by what others did meanwhile: one wait of many may have been
            for something else.
        function: The function of the program's own code that leads to most of it; empty if no stack shows one.
        file: Its file.
        line: The line of it with most of the time; 0 if it is not known.
        line_share: Which part of the row's stacks passes that line, from 0 to 1.
        called: What was called there and had most of it: a function of a library, or a native one; else empty.
        apart: The function that is for this alone, so that to change it changes nothing else: what was called there, or
            the program's own one; else empty.
        apart_share: Which part of the row's stacks passes it, from 0 to 1; 0 where it is empty.
        evidence: The rows of which table, and which of them, they are the sum of.
    """

    process: str
    cause: str
    stage: str
    category: str
    module: str
    on: str
    seconds: float
    share: float
    assumed: bool
    function: str
    file: str
    line: int
    line_share: float
    called: str
    apart: str
    apart_share: float
    evidence: str


#: Names and values of columns that tell which stacks are meant.
_Stacks = tuple[tuple[str, str | tuple[str, ...]], ...]


class _Key(NamedTuple):
    """A row of an account is told from others by these."""

    cause: Cause
    stage: str = ""
    category: str = ""
    on: str = ""
    assumed: bool = False
    evidence: str = ""
    where: _Stacks = ()  # columns of the stacks that show it
    whose: str = ""  # the process of these, if it is another one


#: Parts of a life in which a process trains, as far as is known.
_TRAINING = tuple(part.value for part in LifePart if part not in (LifePart.STARTING_UP, LifePart.AFTERWARDS))
#: Native code is of a module that has this part of it.
_NEARLY_ALL = 0.9
#: A row in no stage with such a share of the wall time is divided by the lines that lead to it.
_LEAST_DIVIDED = 0.05
#: What is called on one line stands for a function of which it has so much.
_MOST_OF_FUNCTION = 0.75
#: Layers in which a thread works, in which stacks tell some causes.
_OF_CPU = tuple(each.label for each in (Category.PYTHON, Category.NATIVE, Category.SIMULATOR, Category.BACKEND))
#: What was called begins so where it was a module's code, when that was imported.
IMPORTING = "import "
#: The name of waits in no call that is known.
BLOCKED = "(blocked)"
#: Of what is not done for training.
_OF_PURPOSE = {purpose: Cause(purpose.value) for purpose in Purpose if purpose not in OF_PART.values()}
_OF_PART = {LifePart.STARTING_UP: Cause.STARTING_UP, LifePart.AFTERWARDS: Cause.AFTERWARDS}
_OF_RESOURCE = {Resource.GPU.value: Cause.GPU, Resource.COMMUNICATION.value: Cause.COMMUNICATION}
#: What stacks tell of the work of a stage, or of none.
_OF_DOING = frozenset(map(Cause, DOING.values()))
#: What a process did that another one waited for, where that has a cause of its own.
_OF_BOUND = {
    Bound.NO_CORE: Cause.NO_CORE,
    Bound.COMPILATION: Cause.COMPILE,
    Bound.IMPORT: Cause.IMPORT,
    Bound.GPU: Cause.GPU,
    Bound.COMMUNICATION: Cause.COMMUNICATION,
}


def account_rows(
    purposes: Iterable[PurposeRow],
    breakdown: Sequence[BreakdownRow],
    cpu_times: Iterable[CpuTimeRow],
    path: OwnerPath | None,
    lines: OwnLines,
    hang: Hang | None,
) -> Rows[AccountRow]:
    """Make the rows of `Analysis.account`, the longest first; none if no process took time.

    Args:
        purposes: What the time of processes was for.
        breakdown: The same time by layers, with what is left of it where recording is taken out.
        cpu_times: How long threads ran meanwhile.
        path: What paces the run.
        lines: Of the program's own code.
        hang: What the run was stuck in at its end.
    """
    if path is None:
        return Rows(AccountRow)
    rows = sorted((row for row in purposes if row.process == path.process), key=lambda row: -row.seconds)
    left = _left_by_recording(rows, [row for row in breakdown if row.process == path.process])
    lengths: dict[_Key, int] = {}
    waited_ns = recording_ns = 0
    left_stuck_ns = round(hang.seconds_of(path.process) * NS_PER_S) if hang is not None else 0
    for row in rows:
        whole_ns = round(row.seconds * NS_PER_S)
        ns = round(whole_ns * left[_place(row)])
        recording_ns += whole_ns - ns
        cause = _cause_of(row)
        if row.category == Category.WAIT.label and row.resource == Resource.IDLE.value and left_stuck_ns:
            key = _Key(Cause.STUCK, evidence=_query("purposes", {"process": path.process, "category": row.category}))
            stuck_ns = min(ns, left_stuck_ns)
            lengths[key] = lengths.get(key, 0) + stuck_ns
            ns, left_stuck_ns = ns - stuck_ns, left_stuck_ns - stuck_ns
        if cause is Cause.WAITING:
            waited_ns += ns
        else:
            key = _key_of(row, cause, lines)
            lengths[key] = lengths.get(key, 0) + ns
    if recording_ns:
        lengths[_Key(Cause.RECORDING, evidence=_query("processes", {"process": path.process}))] = recording_ns
    for key, ns in _divided(waited_ns, _waits_of(path, lines)):
        lengths[key] = lengths.get(key, 0) + ns
    wall_ns = sum(lengths.values())
    lengths = dict(_told_by_stacks(path.process, lengths, lines))
    lengths = _without_operator_threads(
        lengths, path.process, lambda process: operator_thread_shares(process, breakdown, cpu_times, lines)
    )
    found = [
        _row(path.process, key, _module(path.process, key, lines), part_ns, part_ns / wall_ns, line)
        for key, ns in sorted(lengths.items())
        for line, part_ns in _by_line(path.process, key, ns, ns / wall_ns, lines)
        if part_ns
    ]
    return Rows(AccountRow, sorted(found, key=lambda row: -row.seconds))


_Place = tuple[str, str, str, str]


def _place(row: PurposeRow | BreakdownRow) -> _Place:
    return row.phase, row.stage, row.category, row.resource


def _left_by_recording(purposes: Iterable[PurposeRow], breakdown: Iterable[BreakdownRow]) -> Mapping[_Place, float]:
    """Return which part of the time in each place was not added by recording; 1 where there is no correction.

    Where correction takes what a thread did beside a device, what is left counts as the device's: more than 1.
    """
    recorded_s = sums((_place(row), row.seconds) for row in purposes)
    added_s = sums(
        (_place(row), row.seconds - row.corrected_seconds) for row in breakdown if row.corrected_seconds is not None
    )
    # Less than a nanosecond is what rounding left.
    return {
        place: 1 - added / s if s > 0 and abs(added := added_s.get(place, 0.0)) >= 1 / NS_PER_S else 1.0
        for place, s in recorded_s.items()
    }


def _told_by_stacks(process: str, lengths: Mapping[_Key, int], lines: OwnLines) -> Iterator[tuple[_Key, int]]:
    """Yield rows with what stacks tell of their work, such as packing messages, as rows of their own."""
    for key, ns in lengths.items():
        is_work = key.cause.has_layers and key.category in _OF_CPU and key.where
        shares = lines.shares_of_doing(key.whose or process, **dict(key.where)) if is_work else {}
        causes = [key.cause, *map(Cause, shares)]
        for cause, part_ns in zip(causes, _proportional(ns, [1 - sum(shares.values()), *shares.values()]), strict=True):
            yield key._replace(cause=cause), part_ns


def _without_operator_threads(
    lengths: Mapping[_Key, int], process: str, shares_of: Callable[[str], Mapping[str, float]]
) -> dict[_Key, int]:
    """Return rows with what a process, or one that it waited for, waited for the threads of its operators apart."""
    found = dict(lengths)
    backend = Category.BACKEND.label
    kept = cache(shares_of)
    for key, ns in lengths.items():
        shares = kept(key.whose or process) if key.cause in STAGES and key.category == backend else {}
        waited_ns = round(ns * shares.get(key.stage, 0.0))
        if waited_ns:
            found[key] -= waited_ns
            where = ("part", _TRAINING), ("stage", tuple(shares)), ("category", backend)
            evidence = _query("cpu_times", {"process": key.whose or process, "stage": "|".join(shares)})
            apart = _Key(Cause.OPERATOR_THREADS, "", backend, key.on, True, evidence, where, key.whose)
            found[apart] = found.get(apart, 0) + waited_ns
    return found


def _by_line(process: str, key: _Key, ns: int, share: float, lines: OwnLines) -> Iterator[tuple[OwnLine | None, int]]:
    """Yield the lines of a row with its nanoseconds: several of a large one whose cause is not known, else one."""
    process = key.whose or process
    doing = key.cause.value if key.cause in _OF_DOING else "" if key.category in _OF_CPU else None
    if key.cause.is_known or share < _LEAST_DIVIDED or not key.where:
        yield lines.of(process, doing=doing, **dict(key.where)) if key.where else None, ns
        return
    places = lines.places(process, doing=doing, **dict(key.where)) or [(None, 1.0)]
    yield from zip((line for line, _ in places), _proportional(ns, [part for _, part in places]), strict=True)


def _module(process: str, key: _Key, lines: OwnLines) -> str:
    """Return the module that has nearly all of the native code in a row: `libphysics` of `libphysics.step`."""
    if key.category != Category.NATIVE.label:
        return ""
    seconds = sums(
        (public_name(time.function).partition(".")[0], time.seconds)
        for time in lines.times(key.whose or process, **dict(key.where))
    )
    found = max(seconds, key=lambda module: (seconds[module], module), default="")
    return found if found and seconds[found] >= _NEARLY_ALL * sum(seconds.values()) else ""


def _row(process: str, key: _Key, module: str, ns: int, share: float, found: OwnLine | None) -> AccountRow:
    function, file, line, line_share, called, apart, apart_share = "", "", 0, 0.0, "", "", 0.0
    if found is not None:
        function, file, line, line_share = found.function, found.path, found.line, found.line_share
        called = _called(found, key)
        apart = _apart(found, key.cause, called)
        if apart:  # of a function that was called there no more is known than that most of the line's time passes it
            apart_share = found.share if apart == found.function else found.line_share
    return AccountRow(
        process, key.cause.value, key.stage, key.category, module, key.on, ns / NS_PER_S, share, key.assumed,
        function, file, line, line_share, called, apart, apart_share, key.evidence,
    )  # fmt: skip


def _apart(found: OwnLine, cause: Cause, called: str) -> str:
    """Return what to change of an own line: what was called there, or the own function; empty if others need it, too.

    A simulation is there for what its own library does: a wrapper whose `step` only hands on is nothing to change.
    """
    is_called = bool(found.entry) and found.is_entry_apart and not found.native
    hands_on = bool(found.called) and bare_name(found.called[0]) == bare_name(found.function)
    is_own = found.is_apart and not hands_on
    if called.startswith(IMPORTING) or (cause.is_known and not is_own):
        return ""
    is_most = found.line_share >= _MOST_OF_FUNCTION * found.share
    if is_own and not (is_called and is_public(found.entry) and is_most):
        return found.function
    return called if is_called or (found.native and not found.called) else ""


def _called(found: OwnLine, key: _Key) -> str:
    """Return what was called at an own line: a native function, or one of a library.

    It is rather the latter where the layer is not told, as of waits. Of code that an import runs it is the import.
    """
    is_told_by_entry = found.entry and key.cause not in _OF_RESOURCE.values() and not key.cause.has_layers
    if found.native and found.native != key.on and not is_told_by_entry:
        return public_name(found.native)
    imported = next((each for each in found.called if each.endswith(" <module>")), "")
    if imported:
        return f"{IMPORTING}{imported.partition('/')[0].partition(' ')[0].removesuffix('.py')}"
    return written(found.entry)


def public_name(function: str) -> str:
    """Return a native function as people write it: `torch.linear` for `torch._C._nn.linear`."""
    *around, name = function.split(".")
    return ".".join([*(part for part in around if not part.startswith("_")), name])


def written(function: str) -> str:
    """Return a function of Python as people write it: `copy.deepcopy` for `copy.py deepcopy`; a method with its class.

    Modules and packages whose names begin with `_` have helpers, whose functions people know by what is around these.
    """
    file, _, name = function.rpartition(" ")
    if "." in name or not file or file.startswith(("/", "<")):
        return name
    parts = file.removesuffix(".py").removesuffix("/__init__").split("/")
    public = takewhile(lambda part: not part.startswith("_"), parts)
    return ".".join([*public, name])


def _cause_of(row: PurposeRow) -> Cause:
    """Return the cause of time; WAITING of all waits of training, which other tables tell apart."""
    part, purpose = LifePart(row.part), Purpose(row.purpose)
    if row.category == Category.NO_CORE.label and row.resource == Resource.IDLE.value:
        return Cause.NO_CORE
    if part in _OF_PART:
        return _OF_PART[part]
    if purpose in _OF_PURPOSE:
        return _OF_PURPOSE[purpose]
    if row.resource in _OF_RESOURCE:
        return _OF_RESOURCE[row.resource]
    if row.category == Category.WAIT.label and row.resource == Resource.IDLE.value:
        return Cause.WAITING
    if row.stage in STAGES:
        return Cause(row.stage)
    return Cause.NO_LOOP if part is LifePart.UNPLACED else Cause.NO_STAGE


def _key_of(row: PurposeRow, cause: Cause, lines: OwnLines) -> _Key:
    """Return the row of an account that time counts in: what was done for training is told apart by layers."""
    tells = {"part": row.part} if cause in _OF_PART.values() else {"purpose": row.purpose}
    if cause is Cause.NO_CORE:
        tells = {"category": row.category}
    elif cause.has_layers:
        tells |= {"stage": row.stage, "category": row.category}
    elif cause in _OF_RESOURCE.values():
        tells |= {"stage": row.stage, "resource": row.resource}
    stacks: dict[str, str | tuple[str, ...]] = {name: value for name, value in tells.items() if name != "resource"}
    if "part" not in stacks:
        stacks["part"] = _TRAINING
    if cause is Cause.GPU:  # the stage is that of the device's work; the process may wait for it in another one
        stage, function = lines.wait_for_devices(row.process) or ("", "")
        stacks = {"part": _TRAINING, "stage": stage, "function": function} if function else {}
    return _Key(
        cause,
        tells.get("stage", "") if row.stage in STAGES else "",
        tells.get("category", ""),
        evidence=_query("purposes", {"process": row.process} | tells),
        where=() if cause is Cause.NO_CORE else tuple(stacks.items()),
    )


def _waits_of(path: OwnerPath, lines: OwnLines) -> Mapping[_Key, float]:
    """Return what a process waited for while it trained: seconds that say which share of its waits each has."""
    found: dict[_Key, float] = {}

    def add(key: _Key, seconds: float) -> None:
        if seconds > 0:
            found[key] = found.get(key, 0.0) + seconds

    for group in path.followed:
        for key, seconds in _work_of(path.process, group, lines):
            add(key, seconds)
    for wait in path.unfollowed:
        evidence = _query("waits", {"process": path.process, "function": wait.function})
        cause = Cause.DISK if wait.kind == DISK else Cause.WAITING
        if not wait.kind and wait.function == BLOCKED:
            cause = Cause.BLOCKED
        add(_Key(cause, on=wait.function, evidence=evidence, where=_waiting_in(wait.function)), wait.seconds)
    return found


def _waiting_in(*functions: str) -> _Stacks:
    """Return which stacks show where a process waits in these functions."""
    return (("part", _TRAINING), ("category", Category.WAIT.label), ("function", functions))


def _work_of(process: str, group: Followed, lines: OwnLines) -> Iterator[tuple[_Key, float]]:
    """Yield what processes did that another one waited for, and what of the wait that does not explain."""
    on = group_name(group.names)
    evidence = _query("dependencies", {"process": process, "on": "|".join(group.names)})
    scale = group.worked_s / group.mean_s if group.mean_s > 0 else 0.0
    waiting = _waiting_in(*group.functions)
    for kind, seconds in group.mix.items():
        longest = max(range(len(group.works)), key=lambda place: group.works[place].mix.get(kind, 0.0))
        of_one = group.names[longest]
        cause = _cause_of_work(kind)
        s = seconds * scale
        if cause is Cause.NO_STAGE and group.rounds > 1:
            # What has no name in processes that live for a moment is what starting and ending them takes, but for what
            # they do in the program's own code.
            own_s = s * lines.own_share(of_one, kind.category)
            yield _Key(Cause.PROCESSES, on=on, assumed=True, evidence=evidence, where=waiting), s - own_s
            s = own_s
        if cause.has_layers:
            stage = kind.stage if kind.stage in STAGES else ""
            yield _Key(cause, stage, kind.category, on, True, evidence, _working(kind), of_one), s
        elif cause is Cause.WAITING and group.idle is not None:
            place, wait = group.idle
            where, whose = _waiting_in(wait.function), group.names[place]
            yield _Key(cause, on=on, assumed=True, evidence=evidence, where=where, whose=whose), s
        else:
            where = waiting if cause is Cause.WAITING else ()
            yield _Key(cause, on=on, assumed=True, evidence=evidence, where=where), s
    left_s = group.spread_s
    if group.slowest is not None:
        mix = group.works[group.slowest].mix
        kind = max(mix, key=lambda each: mix[each] - group.mix.get(each, 0.0))
        slowest = group.names[group.slowest]
        key = _Key(Cause.SLOWEST, on=slowest, assumed=True, evidence=evidence, where=_working(kind), whose=slowest)
        yield key, group.slowest_s
        left_s -= group.slowest_s
    rest = Cause.PROCESSES if group.rounds > 1 else Cause.MESSAGES
    yield _Key(rest, on=on, assumed=True, evidence=evidence, where=waiting), left_s


def _working(kind: Kind) -> _Stacks:
    """Return which stacks of a process that was waited for show where it did work of a kind."""
    return ("part", _TRAINING), ("stage", kind.stage), ("category", kind.category)


def _cause_of_work(kind: Kind) -> Cause:
    """Return the cause of what a process did that another one waited for."""
    if kind.bound is Bound.WAITING:
        return Cause.WAITING
    return _OF_BOUND.get(kind.bound) or (Cause(kind.stage) if kind.stage in STAGES else Cause.NO_STAGE)


def group_name(names: Sequence[str]) -> str:
    """Return one name for processes that do the same: `worker-1 to 3` of `worker-1`, `worker-2` and `worker-3`."""
    stem = names[0].rstrip("0123456789")
    numbers = sorted(int(end) for name in names if (end := name.removeprefix(stem)).isdecimal())
    if len(names) > 1 and numbers and numbers == [*range(numbers[0], numbers[0] + len(names))]:
        return f"{stem}{numbers[0]} to {numbers[-1]}"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _divided(whole_ns: int, parts: Mapping[_Key, float]) -> Iterator[tuple[_Key, int]]:
    """Divide waits among what they were for; their nanoseconds sum to them."""
    if sum(parts.values()) <= 0:
        yield _Key(Cause.BLOCKED, on="", evidence=_query("waits", {})), whole_ns
        return
    yield from zip(parts, _proportional(whole_ns, parts.values()), strict=True)


def _proportional(whole_ns: int, parts: Iterable[float]) -> Iterator[int]:
    """Divide whole nanoseconds in proportion to parts; they sum to them."""
    reached = [*accumulate(parts, initial=0.0)]
    ends = [round(whole_ns * each / reached[-1]) for each in reached]
    yield from (end - start for start, end in pairwise(ends))


def _query(table: str, tells: Mapping[str, str]) -> str:
    """Say which rows of a table are meant: `purposes: process=main, purpose=evaluation`."""
    return f"{table}: " + ", ".join(f"{name}={value}" for name, value in tells.items())
