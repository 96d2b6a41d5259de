"""This file puts processes of several machines on one time line, and says what a run had of a machine's cores."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rlscope.analysis.swept import Swept
from rlscope.model import NS_PER_S, Category
from rlscope.text import encodable
from rlscope.trace.clock_offset import ClockOffset, clock_offset, exchanges_in, time_in
from rlscope.trace.reader import ProcessFile, Trace

if TYPE_CHECKING:
    from rlscope.analysis.table_rows import BreakdownRow  # with all tables, which a recording does not load

#: How a machine's processes were placed on the time line.
REFERENCE, MEASURED, OWN_CLOCK = "reference", "measured", "own clock"
#: A command that keeps so much of its cores busy leaves other programs none to speak of.
NEARLY_ALL = 0.75


@dataclass(frozen=True)
class Machine:
    """A machine, from one start of it to the next.

    Attributes:
        name: its host name, or the beginning of its boot id.
        boot_id: 32 hexadecimal digits.
        processes: how many of it are in the trace.
        placed: `reference`, if times are those of its clock; `measured`, if they were moved by the measured offset of
            its clock; `own clock`, if that is not known.
        ahead_ns: how far its CLOCK_REALTIME was ahead of the reference's; None if that is not known.
        error_ns: the most by which its processes are misplaced; None if that is not known.
        drift: by how much its clock runs faster than the reference's, as a share; 0 if too little to be measured.
        unanswered: processes that asked for the time and had no answer.
    """

    name: str
    boot_id: str
    processes: int
    placed: str
    ahead_ns: int | None
    error_ns: int | None
    drift: float
    unanswered: int


@dataclass(frozen=True)
class CoreUse:
    """These are the cores that a run had on the machine that recorded it, and who else wanted them; None: not known.

    Attributes:
        cores: of the machine.
        usable: as many of them the command might use: by its affinity, and by the quota of its control groups, which
            may be a part of a core.
        ready_threads: threads of all programs that were ready to run, on average.
        busy: cores that the command kept busy, on average.
        load_at_start: the load average of the minute before the run.
        load_at_end: that of its last minute.
        stolen_s: time of cores that a virtual machine was not given though something was ready to run.
        throttled_s: time for which a quota stopped the run's control groups.
        no_core_share: share of the processes' time in which they waited for a core, from 0 to 1; not known of a run
            that was recorded before that was told from other time.
        wanted: cores that the run's own processes would have used at once without other programs, on average over the
            longest one's life, each with one thread: those that ran, and of those that waited for a core the share that
            the run had of the cores, for the others waited for other programs. Not known where `no_core_share` is not.
    """

    cores: int | None
    usable: float | None
    ready_threads: float | None
    busy: float | None
    load_at_start: float | None
    load_at_end: float | None
    stolen_s: float | None
    throttled_s: float | None
    no_core_share: float | None
    wanted: float | None

    @property
    def is_own_doing(self) -> bool:
        """Return whether the run's own processes were too many for the cores, whatever other programs did."""
        return self.usable is not None and self.wanted is not None and self.wanted > self.usable

    @property
    def is_others_doing(self) -> bool:
        """Return whether other programs had the cores for which the run's own processes waited.

        These kept not nearly all cores busy, and of the threads that were ready most were not theirs.
        """
        if self.is_own_doing or self.wanted is None:
            return False
        if self.usable is None or self.busy is None or self.ready_threads is None:
            return False
        return self.busy < NEARLY_ALL * self.usable < self.ready_threads and self.ready_threads > 2 * self.wanted


def core_use(manifest: Mapping[str, Any], breakdown: Iterable[BreakdownRow], tells_no_core: bool = True) -> CoreUse:
    """Return what a run had of the cores, by its manifest, which may hold anything, and by its times.

    Args:
        manifest: Of the trace.
        breakdown: Of all processes.
        tells_no_core: Whether time without a core is told from other time in all of them.
    """

    def number(part: str, name: str) -> float | None:
        found = manifest.get(part)
        value = found.get(name) if isinstance(found, dict) else None
        return value if type(value) in (int, float) and 0 <= value < math.inf else None  # type: ignore[operator]

    def grown_s(name: str) -> float | None:
        first, last = number("start", name), number("end", name)
        return None if first is None or last is None else max(last - first, 0) / NS_PER_S

    cores, *allowed = (number("machine", name) for name in ("cores", "usable_cores", "quota_cores"))
    no_core_s = whole_s = wait_s = 0.0
    lives_s: dict[str, float] = {}
    for row in breakdown:
        lives_s[row.process] = lives_s.get(row.process, 0.0) + row.seconds
        whole_s += row.seconds
        no_core_s += row.seconds if row.category == Category.NO_CORE.label else 0.0
        wait_s += row.seconds if row.category == Category.WAIT.label else 0.0
    usable = min((each for each in (cores, *allowed) if each is not None), default=None)
    busy = number("end", "busy_cores")
    own_share = min(1.0, busy / usable) if busy is not None and usable else 1.0
    wanted_s = whole_s - wait_s - (1 - own_share) * no_core_s
    return CoreUse(
        cores=None if cores is None else int(cores),
        usable=usable,
        ready_threads=number("end", "ready_threads"),
        busy=busy,
        load_at_start=number("start", "load_average"),
        load_at_end=number("end", "load_average"),
        stolen_s=grown_s("stolen_ns"),
        throttled_s=grown_s("throttled_ns"),
        no_core_share=_share(no_core_s, whole_s) if tells_no_core else None,
        wanted=_share(wanted_s, max(lives_s.values(), default=0.0)) if tells_no_core else None,
    )


def _share(part_s: float, whole_s: float) -> float:
    return part_s / whole_s if whole_s > 0 else 0.0


def place_machines(
    trace: Trace, swept: Sequence[tuple[ProcessFile, Swept]]
) -> tuple[list[Machine], list[tuple[ProcessFile, Swept]]]:
    """Move the processes of other machines to the time line of that which ran `rlscope record`.

    Args:
        trace: with the manifest, which says which machine that was.
        swept: each process with what the sweep found in it.

    Returns:
        The machines, that one first, then by name; and the processes, by start.
    """
    by_boot: defaultdict[bytes, list[tuple[ProcessFile, Swept]]] = defaultdict(list)
    for file, found in swept:
        by_boot[file.header.boot_id].append((file, found))
    reference = trace.recorder_boot_id
    time_line = _time_line(trace, by_boot.get(reference, ())) if reference is not None else None
    if reference is None:
        reference = next((file for file, _ in swept if file.is_main), swept[0][0]).header.boot_id
    machines: list[Machine] = []
    placed: list[tuple[ProcessFile, Swept]] = []
    for boot_id, processes in by_boot.items():
        offset = None
        if boot_id != reference and time_line is not None:
            offset = clock_offset(exchange for _, found in processes for exchange in exchanges_in(found.properties))
        if offset is None or time_line is None:
            machines.append(_machine(processes, REFERENCE if boot_id == reference else OWN_CLOCK))
            placed += processes
            continue
        machines.append(_measured(processes, offset, time_line))
        placed += [(replace(file, clock=offset.place(file.clock, time_line)), found) for file, found in processes]
    machines.sort(key=lambda machine: (machine.placed != REFERENCE, machine.name, machine.boot_id))
    placed.sort(key=lambda item: (item[0].clock.realtime_ns(item[0].header.start_ticks), item[0].path))
    return _with_unique_names(machines), placed


def _time_line(trace: Trace, processes: Sequence[tuple[ProcessFile, Swept]]) -> int | None:
    """Return CLOCK_REALTIME less CLOCK_MONOTONIC on the machine of `rlscope record`; None if the trace does not say."""
    for file, _ in processes:
        return file.clock.realtime_offset_ns
    start = trace.manifest.get("start")
    realtime_ns, monotonic_ns = time_in(start, "realtime_ns"), time_in(start, "monotonic_ns")
    return None if realtime_ns is None or monotonic_ns is None else realtime_ns - monotonic_ns


def _machine(processes: Sequence[tuple[ProcessFile, Swept]], placed: str) -> Machine:
    """Return what is known without a measured offset."""
    boot_id = processes[0][0].header.boot_id.hex()
    names = [name for _, found in processes if isinstance(name := found.properties.get("hostname"), str) and name]
    clocks = [found.properties.get("clock") for _, found in processes]
    return Machine(
        name=encodable(names[0]) if names else boot_id[:8],
        boot_id=boot_id,
        processes=len(processes),
        placed=placed,
        ahead_ns=0 if placed == REFERENCE else None,
        error_ns=0 if placed == REFERENCE else None,
        drift=0.0,
        unanswered=sum(isinstance(clock, dict) and bool(clock.get("unanswered")) for clock in clocks),
    )


def _measured(processes: Sequence[tuple[ProcessFile, Swept]], offset: ClockOffset, time_line: int) -> Machine:
    own = processes[0][0].clock
    times_ns = [
        file.clock.monotonic_ns(ticks) for file, found in processes for ticks in (found.start_ticks, found.end_ticks)
    ]
    return replace(
        _machine(processes, MEASURED),
        ahead_ns=own.realtime_offset_ns - offset.offset_ns - time_line,
        error_ns=offset.error_ns(min(times_ns), max(times_ns)),
        drift=-offset.drift,
    )


def _with_unique_names(machines: list[Machine]) -> list[Machine]:
    uses = Counter(machine.name for machine in machines)
    return [
        replace(machine, name=f"{machine.name} ({machine.boot_id[:8]})") if uses[machine.name] > 1 else machine
        for machine in machines
    ]


def why_misplaced(machines: Sequence[Machine]) -> list[str]:
    """Return the machines of a trace of several whose processes may be anywhere on its time line, one sentence each."""
    if len(machines) < 2:
        return []
    sentences = []
    for machine in machines:
        if machine.placed == OWN_CLOCK:
            asked = f", {machine.unanswered} asked for the time and had no answer" if machine.unanswered else ""
            sentences.append(
                f"the clock of machine {machine.name} was not measured (processes: {machine.processes}{asked}): it is "
                "placed by its own clock, which may be off by any amount; "
                + ("let UDP through to the port of --clock-port" if asked else "record with --clock-port")
            )
    return sentences
