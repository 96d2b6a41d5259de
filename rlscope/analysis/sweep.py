"""This file sweeps all processes of a trace in parallel and names them."""

from __future__ import annotations

import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from rlscope._analysis import properties, sweep
from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.ends import (
    NOT_COMPLETED,
    SENT,
    End,
    end_of,
    is_known_to_lose_nothing,
    is_replaced,
    noted_ends,
    with_status,
)
from rlscope.analysis.live.window import Window
from rlscope.analysis.machines import Machine, place_machines, why_misplaced
from rlscope.analysis.swept import Swept
from rlscope.errors import TraceError, TraceFormatError
from rlscope.model import NS_PER_S, GpuAttribution
from rlscope.text import encodable
from rlscope.text.numbers import duration
from rlscope.trace.reader import ProcessFile, Trace

#: What a process is called that is a rank of a distributed training.
RANK = re.compile(r"rank \d+")
ROLES = ("main", "worker", "infrastructure")
NO_CALIBRATION = "no calibration was given"
#: As often as the recorder can do the work of a record.
MOST_AMPLIFICATION = 1000
#: Of some hundred thousand events: from then on a second thread per process pays.
LONG_FILE_BYTES = 1 << 20

Found = TypeVar("Found")


@dataclass(frozen=True)
class ProcessSweep:
    """One process: its file, a name that is unique in the trace, its role, what the sweep found, and who ended it."""

    file: ProcessFile
    name: str
    role: str
    found: Swept
    ended_by: str = ""  # another process of the run, which noted it; nothing is missing then

    @property
    def start_ns(self) -> int:
        """Return nanoseconds since 1970."""
        return self.file.clock.realtime_ns(self.found.start_ticks)

    @property
    def end_ns(self) -> int:
        """Return nanoseconds since 1970."""
        return self.file.clock.realtime_ns(self.found.end_ticks)

    @property
    def seconds_per_tick(self) -> float:
        """Return how long a tick of its clock is."""
        return self.file.clock.ns_per_denominator / self.file.clock.denominator / NS_PER_S

    def length_ns(self, ticks: int) -> int:
        """Return how long so many ticks are."""
        return _length_ns(self.file, ticks)


@dataclass(frozen=True)
class TraceSweep:
    """All processes of a trace, by start, and the machines that they ran on.

    `why` says what is missing; it is empty if the trace is complete. `uncorrected` says why times are not corrected,
    and is empty if they are.
    """

    trace: Trace
    processes: tuple[ProcessSweep, ...]
    machines: tuple[Machine, ...]
    why: tuple[str, ...]
    correction: Correction | None
    uncorrected: str

    @property
    def main(self) -> ProcessSweep:
        """Return the process of the command; the first one where that was not recorded or cannot be read."""
        return next((process for process in self.processes if process.file.is_main), self.processes[0])

    @property
    def dropped_events(self) -> int:
        """Return how many records could not be written, those of devices included."""
        return sum(process.found.dropped_records + process.found.dropped_device_records for process in self.processes)


def sweep_trace(
    trace: Trace,
    recover: bool = False,
    by_thread: bool = False,
    gpu_attribution: GpuAttribution = GpuAttribution.LAUNCH,
    correction: Correction | str = NO_CALIBRATION,
    bins: int | None = None,
    window: Window | None = None,
) -> TraceSweep:
    """Sweep each process of `trace` once.

    `correction` is what recording costs, or why times are not to be corrected. With `bins`, so many per process or 0
    for none, the sweep finds `Swept.detail` too. With a `window`, only what lies in it is swept, without `correction`
    and `bins`.

    Raises:
        TraceError: a file cannot be read, or times are to be corrected and it says no amplification that there is.
        TraceFormatError: a file is damaged, and `recover` is off or nothing of the file can be used.
    """
    calibrated, uncorrected = (correction, "") if isinstance(correction, Correction) else (None, correction)
    has_idle_processor = len(os.sched_getaffinity(0)) > len(trace.processes)

    def sweep_file(file: ProcessFile) -> Swept | TraceFormatError:
        try:
            costs = None
            if calibrated is not None:
                costs = own_correction(calibrated, file, properties(file.path, recover)).in_ticks(file.clock)
            found = sweep(
                file.path,
                limit_ticks=file.limit_ticks if window is None else window.limit_ticks(file),
                recover=recover,
                by_thread=by_thread,
                coincident=gpu_attribution is GpuAttribution.COINCIDENT,
                costs=costs,
                borders=None if bins is None else bin_borders(file, recover, bins),
                since_ticks=0 if window is None else window.since_ticks(file),
                decodes_ahead=has_idle_processor and file.path.stat().st_size >= LONG_FILE_BYTES,
            )
        except TraceFormatError as error:
            if not recover:
                raise
            return error
        except OSError as error:
            raise TraceError(f"a process file could not be read: {error}; make it readable") from error
        return replace(found, why=(*found.why, *_missing_gpu_work(file, found)))

    results = _all_at_once(sweep_file, trace.processes)
    why = list(trace.why)
    swept = []
    pairs = list(zip(trace.processes, results, strict=True))
    ends = [
        end
        for file, found in pairs
        if not isinstance(found, TraceFormatError)
        for end in noted_ends(file, found.properties)
    ]
    ended_by: dict[Path, str] = {}
    for file, found in pairs:
        if not isinstance(found, TraceFormatError):
            file, found, ended_by[file.path] = _with_end(file, found, ends, trace.processes, sweep_file)
        if isinstance(found, TraceFormatError):
            why.append(str(found))
            continue
        swept.append((file, found))
        why += [f"process {file.header.pid}: {reason}" for reason in found.why]
        if file.clock.is_estimated:
            why.append(f"process {file.header.pid}: its clock was read only once, so times may be off by a per mille")
    if not swept:
        raise TraceFormatError(f"no process of {trace.directory} can be analyzed: {'; '.join(why)}")
    machines, swept = place_machines(trace, swept)
    why += why_misplaced(machines)
    trainer = _launched(swept) if window is None else None
    names = _unique_names(swept, machines, trainer)
    processes = tuple(
        ProcessSweep(file, name, _role(file, found, trainer), found, ended_by.get(file.path, ""))
        for (file, found), name in zip(swept, names, strict=True)
    )
    return TraceSweep(trace, processes, tuple(machines), tuple(why), calibrated, uncorrected)


def _with_end(
    file: ProcessFile,
    found: Swept,
    ends: Sequence[End],
    files: Iterable[ProcessFile],
    sweep_file: Callable[[ProcessFile], Swept | TraceFormatError],
) -> tuple[ProcessFile, Swept | TraceFormatError, str]:
    """Return a process with how it ended, in words where another one ended it or it goes on as another program."""
    ended_by = "went on as another program" if is_replaced(file, files) else ""
    end = end_of(file, found, ends, SENT)
    if end is not None and not file.limit_ticks:
        # Once more, up to the end that is known now.
        file = replace(file, limit_ticks=max(file.clock.ticks_at(end.monotonic_ns), found.last_record_ticks))
        again = sweep_file(file)
        if isinstance(again, TraceFormatError):
            return file, again, ""
        found = again
    if end is not None and is_known_to_lose_nothing(found):
        ended_by = f"ended by process {end.noted_by} ({end.how})"
    if ended_by:
        found = replace(found, why=tuple(reason for reason in found.why if reason != NOT_COMPLETED))
    return *with_status(file, found, ends), ended_by


def bin_borders(file: ProcessFile, recover: bool, bins: int) -> bytes:
    """Say where so many bins of equal width over a process's life end, as the sweep takes them."""
    if bins == 0:
        return b""
    start_ticks, end_ticks = file.header.start_ticks, file.header.stop_ticks
    if not end_ticks:
        end_ticks = sweep(file.path, limit_ticks=file.limit_ticks, recover=recover).end_ticks
    width = max(-(-(end_ticks - start_ticks) // bins), 1)
    return array("Q", (start_ticks + width * (number + 1) for number in range(bins))).tobytes()


def own_correction(correction: Correction, file: ProcessFile, found: Mapping[str, object]) -> Correction:
    """Return the correction with the costs that hold in a process, by the properties that were found in its file.

    Raises:
        TraceError: what they say of its records cannot be.
    """
    versions = found.get("versions")
    return correction.of_process(versions if isinstance(versions, dict) else {}, amplification_of(file, found))


def amplification_of(file: ProcessFile, found: Mapping[str, object]) -> int:
    """Return how many times the work of each of the file's records was done, by the properties that were found in it.

    Raises:
        TraceError: they hold a value that cannot be.
    """
    times = found.get("amplification", 1)
    if type(times) is not int or not 1 <= times <= MOST_AMPLIFICATION:
        raise TraceError(
            f"an amplification from 1 to {MOST_AMPLIFICATION} was expected, but the properties in {file.path} say "
            f"{encodable(repr(times)[:80])}; what its records cost is not known, so analyze it with --correct none"
        )
    return times


def _all_at_once(sweep_file: Callable[[ProcessFile], Found], files: Sequence[ProcessFile]) -> list[Found]:
    if len(files) == 1:
        return [sweep_file(files[0])]
    from concurrent.futures import ThreadPoolExecutor  # takes longer to import than most files to sweep

    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(files))) as pool:
        return list(pool.map(sweep_file, files))


def _length_ns(file: ProcessFile, ticks: int) -> int:
    start_ticks = file.header.start_ticks
    return file.clock.monotonic_ns(start_ticks + ticks) - file.clock.monotonic_ns(start_ticks)


def _missing_gpu_work(file: ProcessFile, found: Swept) -> list[str]:
    """Return why work of devices is not in the file, one sentence each."""
    reasons = []
    for name, ticks in found.gaps.items():
        seconds = _length_ns(file, ticks) / NS_PER_S
        reasons.append(f"GPU work was not recorded for {duration(seconds)}, {encodable(name).strip('[]')}")
    cuda = found.properties.get("cuda")
    if isinstance(cuda, dict) and cuda.get("state") == "failed":
        reasons.append(f"GPU work was not recorded: {encodable(str(cuda.get('error')))}")
    return reasons


def _launched(swept: Sequence[tuple[ProcessFile, Swept]]) -> ProcessFile | None:
    """Return the process that trains for a command that only starts it, as `accelerate launch` does; None without one.

    It is the only one with a loop that was started as another program, and that nothing gave a name.
    """
    main = next((found for file, found in swept if file.is_main), None)
    if main is None or main.loop is not None:
        return None
    trainers = [
        file
        for file, found in swept
        if found.loop is not None
        and not {"process_name", "role"} & found.properties.keys()
        and found.properties.get("command") != main.properties.get("command")
    ]
    return trainers[0] if len(trainers) == 1 else None


def _role(file: ProcessFile, found: Swept, trainer: ProcessFile | None) -> str:
    role = found.properties.get("role")
    if role in ROLES:
        return str(role)
    if trainer is not None and file.is_main:
        return "infrastructure"
    return "main" if file.is_main or file is trainer else "worker"


def _unique_names(
    swept: list[tuple[ProcessFile, Swept]], machines: list[Machine], trainer: ProcessFile | None
) -> list[str]:
    """Return the names of processes: `rank 0` is that, and `rank 0 on HOST` in a trace of several machines."""
    of_command = "main" if trainer is None else "launcher"
    hosts = {machine.boot_id: f" on {machine.name}" for machine in machines} if len(machines) > 1 else {}
    names = []
    for file, found in swept:
        name = found.properties.get("process_name")
        known = encodable(name) if isinstance(name, str) else ""
        if RANK.fullmatch(known):
            known += hosts.get(file.header.boot_id.hex(), "")
        names.append(known or (of_command if file.is_main else "main" if file is trainer else "process"))
    uses = Counter(names)
    pids = [file.header.pid for file, _ in swept]
    names = [f"{name} ({pid})" if uses[name] > 1 else name for name, pid in zip(names, pids, strict=True)]
    # The same process id can come back: a program that replaced itself, or a long run.
    taken: set[str] = set()
    unique = []
    for name in names:
        number, candidate = 1, name
        while candidate in taken:
            number += 1
            candidate = f"{name} #{number}"
        taken.add(candidate)
        unique.append(candidate)
    return unique
