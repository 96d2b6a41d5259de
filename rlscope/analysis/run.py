"""The facts that several tables of a trace are computed from, each found once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rlscope.analysis.account.owner_path import OwnerPath
from rlscope.analysis.correction.corrected import AppliedCorrection, CorrectedProcess, removed_s
from rlscope.analysis.counters.runs import Counters
from rlscope.analysis.devices.clock import SharedClock, shared_clocks
from rlscope.analysis.devices.devices import BusyParts, Device, devices_of
from rlscope.analysis.devices.sharing import SharedDevices, shared_devices
from rlscope.analysis.devices.timeline import busy_parts
from rlscope.analysis.hang.hang import Hang, hang_of
from rlscope.analysis.lines.own_lines import OwnLines
from rlscope.analysis.ranks.kernels import kernels_of, where_waited
from rlscope.analysis.ranks.matching import Collective, collectives_of
from rlscope.analysis.ranks.tables import is_communication, rank_dependencies
from rlscope.analysis.reported import Utilization
from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import ProcessSweep, TraceSweep, own_correction
from rlscope.analysis.table_rows import BreakdownRow, CounterRow, DependencyRow, ProcessRow, WaitRow
from rlscope.analysis.tables.dependencies import dependency_rows
from rlscope.analysis.tables.loop import Loops
from rlscope.analysis.tables.trainings import ticks_without_evaluation, timesteps_of
from rlscope.model import NS_PER_S
from rlscope.trace.reader import counter_files


@dataclass(frozen=True)
class RunProgress:
    """The progress of a run, as in `Analysis`; None is not known."""

    iterations: int | None = None
    timesteps: int | None = None
    total_timesteps: int | None = None
    extrapolated_s: float | None = None
    extrapolated_with_evaluation_s: float | None = None


class Run:
    """A swept trace, and what more than one table needs of it.

    Attributes:
        swept: The trace.
        recover: Whether damage is stepped over.
        is_by_function: Whether functions and iterations are asked for; the sweep has the detail then.
        utilization: What the machine reported of devices and processes.
    """

    def __init__(self, swept: TraceSweep, recover: bool, is_by_function: bool) -> None:
        self.swept = swept
        self.recover = recover
        self.is_by_function = is_by_function
        self.utilization = Utilization(swept.trace.directory)
        self._own_lines: OwnLines | None = None

    @cached_property
    def progress(self) -> RunProgress:
        """Return how far training came."""
        return progress_of(self.swept)

    @cached_property
    def hang(self) -> Hang | None:
        """Return what the run was stuck in when it ended; None if it was not."""
        if all(process.file.header.stop_ticks for process in self.swept.processes):
            return None
        return hang_of(self.swept)

    @cached_property
    def devices(self) -> list[Device]:
        """Return the devices that processes used."""
        return devices_of(self.swept)

    @cached_property
    def clocks(self) -> list[SharedClock]:
        """Return the processes that used devices, those of a machine on one clock."""
        return shared_clocks(self.swept, self.devices)

    @cached_property
    def busy_parts(self) -> dict[int, BusyParts]:
        """Return what devices did in equal parts of the run, by number."""
        return busy_parts(self.clocks, self.recover)

    @cached_property
    def shared(self) -> SharedDevices:
        """Return who had the devices that several processes used."""
        return shared_devices(self.clocks, self.recover)

    def own_lines(self, loops: Loops) -> OwnLines:
        """Return what finds own lines of the run, whose stacks it reads once; `loops` are the run's."""
        if self._own_lines is None:
            self._own_lines = OwnLines(self.swept, loops)
        return self._own_lines

    def process(self, name: str) -> ProcessSweep:
        """Return the process of that name."""
        return next(process for process in self.swept.processes if process.name == name)

    def has(self, name: str) -> bool:
        """Return whether the sweep found any of a kind in any process; `name` is an attribute of `Swept`."""
        return any(getattr(process.found, name) for process in self.swept.processes)

    @cached_property
    def communicator_calls(self) -> list[Collective]:
        """Return the calls of communicators, matched over ranks."""
        return collectives_of(self.swept)

    @cached_property
    def communicator_kernels(self) -> list[Collective]:
        """Return the kernels of communicators, matched over ranks."""
        return kernels_of(self.swept, self.recover)

    @cached_property
    def waited_in(self) -> list[Collective]:
        """Return the calls or kernels of communicators in which ranks waited for each other."""
        return where_waited(self.communicator_calls, self.communicator_kernels)

    @cached_property
    def reported_shares(self) -> dict[str, float]:
        """Return the mean utilization of each device that the machine reported over the run, by UUID."""
        return self.utilization.mean(*self._span_ns)

    @property
    def _span_ns(self) -> tuple[int, int]:
        """Return CLOCK_MONOTONIC of the machine that ran the command, from the first start to the last end there."""
        boot_id = self.swept.main.file.header.boot_id
        here = [process for process in self.swept.processes if process.file.header.boot_id == boot_id]
        starts = [process.file.clock.monotonic_ns(process.found.start_ticks) for process in here]
        ends = [process.file.clock.monotonic_ns(process.found.end_ticks) for process in here]
        return min(starts), max(ends)

    @cached_property
    def corrected(self) -> list[CorrectedProcess] | None:
        """Return the corrected times of each process; None without a correction."""
        correction = self.swept.correction
        if correction is None:
            return None
        removed = [removed_s(process.found, process.file.clock) for process in self.swept.processes]
        return [
            CorrectedProcess(
                process.found,
                process.file.clock,
                own_correction(correction, process.file, process.found.properties),
                waits_shortened_by_s=sum(removed) - own,
            )
            for process, own in zip(self.swept.processes, removed, strict=True)
        ]

    def dependencies(self, waits: Sequence[WaitRow]) -> Rows[DependencyRow]:
        """Return who waited for whom: by pipes and sockets, and by communicators, whose members say when they called.

        Args:
            waits: What processes waited in.
        """
        boots = {process.name: process.file.header.boot_id for process in self.swept.processes}
        if not self.has("communicates"):
            return Rows(DependencyRow, dependency_rows(waits, boots))
        by_channel = dependency_rows((row for row in waits if not is_communication(row)), boots)
        by_communicator = rank_dependencies((row for row in waits if is_communication(row)), self.communicator_calls)
        return Rows(DependencyRow, [*by_channel, *by_communicator])

    def counters(self, breakdown: Rows[BreakdownRow]) -> Counters:
        """Return what hardware counters say; nothing if none were sampled."""
        trace = self.swept.trace
        if trace.manifest.get("counters") is None and not counter_files(trace.directory):
            return Counters(Rows(CounterRow), None, ())
        from rlscope.analysis.counters.counters import counters_of  # and numpy, which few traces need

        return counters_of(self.swept, self.devices, breakdown, self.recover)

    def applied_correction(self, processes: Rows[ProcessRow], path: OwnerPath | None) -> AppliedCorrection | None:
        """Return what came of the correction, if there is one: the time of the process that paces the run.

        Others may only wait beside it.

        Args:
            processes: The run's table.
            path: What paces it; None if no process took time.
        """
        swept, corrected = self.swept, self.corrected
        if swept.correction is None or corrected is None:
            return None
        names = [process.name for process in swept.processes]
        pacing = names.index(path.process) if path is not None else 0
        wall_s, wall = processes[pacing].wall_s, corrected[pacing].wall
        ends_s = (wall.seconds, wall.high_s, wall.low_s)
        added, low, high = (100 * (wall_s / each - 1) if each else 0.0 for each in ends_s)
        uncalibrated: Counter[str] = Counter()
        for process in corrected:
            uncalibrated.update({key.partition("/")[0]: count for key, count in process.uncalibrated.items()})
        notes = [
            f"{count:,} events of the kind {kind} are of unknown cost: what they added is still in the times"
            for kind, count in sorted(uncalibrated.items())
        ]
        others = sorted({version for process in corrected for version in process.other_versions})
        if others:
            notes.append(f"intervals are twice as wide as calibrated, because the trace has {', '.join(others)}")
        return AppliedCorrection(
            swept.correction.source, names[pacing], added, low, high, tuple(notes), dict(uncalibrated)
        )


def progress_of(swept: TraceSweep) -> RunProgress:
    """Return the progress of the process that reported most iterations, the earliest if several did."""
    best: ProcessSweep | None = None
    most = -1
    for process in swept.processes:
        trainings = process.found.trainings
        iterations = sum(training.iterations for training in trainings)
        if trainings and iterations > most:
            best, most = process, iterations
    if best is None:
        return RunProgress()
    trainings = best.found.trainings
    earlier, last = timesteps_of(trainings[:-1]), trainings[-1]
    # Those before the last one are over: what they were to make is what they have made.
    total = last.total_timesteps or None
    if total is not None and len(trainings) > 1:
        total += earlier - (last.baseline_timesteps or 0)
    between_reports = sum(each.last_timesteps - each.first_timesteps for each in trainings)
    extrapolated_s = with_evaluation_s = None
    if total is not None and between_reports > 0:
        elapsed_ns = sum(best.length_ns(ticks_without_evaluation(each)) for each in trainings)
        extrapolated_s = elapsed_ns * total / between_reports / NS_PER_S
        evaluated_ns = sum(best.length_ns(each.evaluation_ticks) for each in trainings)
        with_evaluation_s = extrapolated_s + evaluated_ns * total / between_reports / NS_PER_S
    return RunProgress(
        iterations=most,
        timesteps=timesteps_of(trainings),
        total_timesteps=total,
        extrapolated_s=extrapolated_s,
        extrapolated_with_evaluation_s=with_evaluation_s,
    )
