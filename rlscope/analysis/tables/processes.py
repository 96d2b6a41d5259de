"""This file lists machines and processes of a trace: row by row, processes as a tree, and the phases of each."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from rlscope.analysis.averages import median
from rlscope.analysis.correction.corrected import CorrectedProcess, times_of
from rlscope.analysis.machines import Machine
from rlscope.analysis.rows import Row, Rows, sums
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.table_rows import BreakdownRow, MachineRow, PhaseRow, ProcessRow
from rlscope.model import NO_PHASE, NS_PER_S, Category, Resource
from rlscope.trace.format import EndReason

ON_CPU = (Resource.CPU.value, Resource.BOTH.value, Resource.CPU_AND_COMMUNICATION.value)
ON_GPU = (Resource.GPU.value, Resource.BOTH.value)
#: With fewer, none of them ends later than most.
LEAST_WITH_STRAGGLER = 3


class _Child(Protocol):
    """A row that names a process and its parent."""

    @property
    def process(self) -> str: ...
    @property
    def parent(self) -> str | None: ...


ChildT = TypeVar("ChildT", bound=_Child)


def process_rows(swept: TraceSweep, corrected: list[CorrectedProcess] | None) -> Rows[ProcessRow]:
    """Make the rows of `Analysis.processes`; `corrected` has one entry for each process."""
    pids = {(process.file.header.boot_id, process.file.header.pid) for process in swept.processes}
    machines = {machine.boot_id: machine.name for machine in swept.machines}
    origin_ns = min(process.start_ns for process in swept.processes)
    rows = []
    for place, (process, parent) in enumerate(zip(swept.processes, parents(swept.processes), strict=True)):
        header = process.file.header
        found = corrected[place] if corrected is not None else None
        wall_s, low_s, high_s = times_of(found.wall if found is not None else None)
        rows.append(
            ProcessRow(
                process=process.name,
                machine=machines[header.boot_id.hex()],
                pid=header.pid,
                parent_pid=header.parent_pid if (header.boot_id, header.parent_pid) in pids else None,
                parent=parent,
                role=process.role,
                exit_status=process.file.exit_status,
                complete=process.found.complete,
                start_s=(process.start_ns - origin_ns) / NS_PER_S,
                end_s=(process.end_ns - origin_ns) / NS_PER_S,
                wall_s=(process.end_ns - process.start_ns) / NS_PER_S,
                corrected_wall_s=wall_s,
                corrected_wall_low_s=low_s,
                corrected_wall_high_s=high_s,
                uncorrectable_s=found.uncorrectable_s if found is not None else None,
                iterations=sum(training.iterations for training in process.found.trainings),
                threads_in_operations=process.found.threads_in_operations,
                beside_s=process.length_ns(process.found.beside_ticks) / NS_PER_S,
            )
        )
    return Rows(ProcessRow, rows)


def parents(processes: Sequence[ProcessSweep]) -> list[str | None]:
    """Return the name of each one's parent: the process with that id that was alive when it started; None if not
    recorded.

    Args:
        processes: by start.
    """
    return [_parent(process, processes[:place]) for place, process in enumerate(processes)]


def _parent(child: ProcessSweep, earlier: Sequence[ProcessSweep]) -> str | None:
    header = child.file.header
    for process in reversed(earlier):
        other = process.file.header
        if (other.boot_id, other.pid) == (header.boot_id, header.parent_pid):
            return process.name if _may_be_alive(process, child.start_ns) else None
    return None


def _may_be_alive(process: ProcessSweep, time_ns: int) -> bool:
    """Return a process that did not end its recording itself may have lived on after its last record."""
    has_ended = process.file.header.end_reason in (EndReason.STOPPED, EndReason.EXIT)
    return not has_ended or process.end_ns >= time_ns


def as_tree(processes: Sequence[ChildT]) -> list[tuple[int, ChildT]]:
    """Return the depth of each process and its row, children under their parent, else in the order they came in.

    A process whose parent is not among them stands by itself.
    """
    names = {row.process for row in processes}
    children: dict[str | None, list[ChildT]] = {}
    for row in processes:
        children.setdefault(row.parent if row.parent in names else None, []).append(row)
    found = []
    waiting = [(0, row) for row in reversed(children.get(None, []))]
    while waiting:
        depth, row = waiting.pop()
        found.append((depth, row))
        waiting += [(depth + 1, child) for child in reversed(children.get(row.process, []))]
    return found


def phase_rows(swept: TraceSweep, breakdown: Sequence[BreakdownRow]) -> Rows[PhaseRow]:
    """Make one row per process and phase, by process, then by start.

    Args:
        swept: the processes.
        breakdown: the rows of the same trace.
    """
    wall_s = sums(((row.process, row.phase), row.seconds) for row in breakdown)
    cpu_s = sums(((row.process, row.phase), row.seconds) for row in breakdown if row.resource in ON_CPU)
    gpu_s = sums(((row.process, row.phase), row.seconds) for row in breakdown if row.resource in ON_GPU)
    wait_s = sums(((row.process, row.phase), row.seconds) for row in breakdown if row.category == Category.WAIT.label)
    return Rows(
        PhaseRow,
        (
            PhaseRow(*key, start_s, end_s, *(seconds.get(key, 0.0) for seconds in (wall_s, cpu_s, gpu_s, wait_s)))
            for key, start_s, end_s in _phase_bounds(swept, {key for key, seconds in wall_s.items() if seconds > 0})
        ),
    )


def _phase_bounds(swept: TraceSweep, with_time: set[tuple[str, str]]) -> list[tuple[tuple[str, str], float, float]]:
    """Return when each phase began and ended; time in no phase is a phase as long as the process."""
    origin_ns = min(process.start_ns for process in swept.processes)
    rows = []
    for process in swept.processes:
        found = [(row.phase, row.start_ticks, row.end_ticks) for row in process.found.phases]
        if (process.name, NO_PHASE) in with_time and NO_PHASE not in (name for name, *_ in found):
            found = [(NO_PHASE, process.found.start_ticks, process.found.end_ticks), *found]
        for name, *ticks in found:
            start_ns, end_ns = map(process.file.clock.realtime_ns, ticks)
            rows.append(((process.name, name), (start_ns - origin_ns) / NS_PER_S, (end_ns - origin_ns) / NS_PER_S))
    return rows


class PhaseGroup(Row):
    """This says how long processes take for the same phase, and which of them all others may have to wait for.

    Attributes:
        phase: The phase.
        processes: How many have it.
        least_s: The shortest of their `wall_s`.
        median_s: The median.
        most_s: The longest.
        straggler: The process that ended it last; None of fewer than three processes.
        late_s: How long after the median end that was.
    """

    phase: str
    processes: int
    least_s: float
    median_s: float
    most_s: float
    straggler: str | None
    late_s: float | None


def phase_groups(phases: Iterable[PhaseRow]) -> Rows[PhaseGroup]:
    """Group the phases of an analysis by name, in order of start; time in no phase is left out."""
    groups: dict[str, list[PhaseRow]] = {}
    for row in sorted((row for row in phases if row.phase != NO_PHASE), key=lambda row: row.start_s):
        groups.setdefault(row.phase, []).append(row)
    rows = []
    for phase, group in groups.items():
        walls = [row.wall_s for row in group]
        straggler, late_s = None, None
        if len(group) >= LEAST_WITH_STRAGGLER:
            last = max(group, key=lambda row: row.end_s)
            straggler, late_s = last.process, last.end_s - median(row.end_s for row in group)
        rows.append(PhaseGroup(phase, len(group), min(walls), median(walls), max(walls), straggler, late_s))
    return Rows(PhaseGroup, rows)


def machine_rows(machines: Sequence[Machine]) -> Rows[MachineRow]:
    """Make one row per machine."""
    return Rows(
        MachineRow,
        (
            MachineRow(
                machine.name, machine.boot_id, machine.processes, machine.placed, _seconds(machine.ahead_ns),
                _seconds(machine.error_ns), 1e6 * machine.drift, machine.unanswered,
            )
            for machine in machines
        ),
    )  # fmt: skip


def _seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_S
