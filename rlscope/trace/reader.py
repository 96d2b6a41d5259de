"""This file opens a trace directory: which processes it holds, what run they belong to, how their clocks relate."""

import os
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from rlscope import _analysis
from rlscope.boot import stored_boot_id
from rlscope.errors import TraceError, TraceFormatError
from rlscope.trace.clock import Clock, clock_id, make_clocks
from rlscope.trace.files import PROCESS_FILE_SUFFIX, open_regular
from rlscope.trace.format import FILE_HEADER, ClockKind, FileHeader
from rlscope.trace.manifest import check_files, overwritten, read_deaths, read_manifest, read_unrecorded
from rlscope.trace.windows import REQUESTS_NAME, read_trouble, windows_in

#: More than file systems hold; the file is read in parts.
MOST_PROCESS_FILE_BYTES = 1 << 62
#: What the files of hardware counters are called, around the UUID of a device.
COUNTERS_PREFIX, COUNTERS_SUFFIX = "counters-", ".arrows"


@dataclass(frozen=True)
class ProcessFile:
    """One recorded process."""

    path: Path
    header: FileHeader
    clock: Clock
    file_bytes: int
    limit_ticks: int  # when a process that did not stop in an orderly way ended, 0 if nobody saw it
    is_main: bool
    exit_status: int | None  # None: unknown; negative: ended by that signal

    @property
    def clock_kind(self) -> ClockKind:
        """Return what its ticks are made from."""
        return ClockKind(self.header.clock)


@dataclass(frozen=True)
class Trace:
    """A trace directory. `why` says, one sentence each, what is missing from it; empty if nothing is."""

    directory: Path
    manifest: dict[str, Any]
    processes: tuple[ProcessFile, ...]  # by start, each machine by its own clock
    why: tuple[str, ...]

    @property
    def recorder_boot_id(self) -> bytes | None:
        """Return the boot id of the machine that ran `rlscope record`, while it did; None where the trace does
        not say.
        """
        return _recorder_boot_id(self.manifest)


def open_trace(directory: str | PathLike[str], recover: bool = False) -> Trace:
    """Open the trace in `directory`, which may still be being written, or have been left by a killed run.

    Args:
        directory: what `rlscope record -o` wrote.
        recover: leave out files that cannot be read, and say so in `Trace.why`, rather than raise.

    Raises:
        TraceError: there is no trace.
        TraceFormatError: a file is damaged or of another format version.
    """
    root = Path(directory)
    if root.is_file():
        raise TraceError(f"a trace directory was expected, but {root} is a file; give the directory that it lies in")
    if not root.is_dir():
        raise TraceError(f"a trace directory was expected at {root}, but there is none; record one with "
                         f"`rlscope record -o {root} -- COMMAND`")  # fmt: skip
    try:
        paths = sorted(root / name for name in os.listdir(root) if name.endswith(PROCESS_FILE_SUFFIX))
    except OSError as error:
        raise TraceError(f"the trace could not be read: {error}; make it readable") from error
    try:
        why = read_unrecorded(root)
    except TraceFormatError as error:
        if not recover:
            raise
        why = [str(error)]
    if not paths and (root / REQUESTS_NAME).exists():
        raise TraceError(f"{root} is a run that is recorded in windows, each of them a trace: {_windows_of(root)}")
    if not paths and why:
        raise TraceError(f"no process of {root} was recorded: {'; '.join(why)}")
    if not paths:
        raise TraceError(f"a trace was expected in {root}, but it holds no PID-N{PROCESS_FILE_SUFFIX} file; record one "
                         f"with `rlscope record -o {root} -- COMMAND`")  # fmt: skip
    headers: list[tuple[Path, FileHeader]] = []
    for path in paths:
        try:
            header = read_header(path)
        except TraceFormatError as error:
            if not recover:
                raise
            why.append(str(error))
            continue
        if header is None:
            why.append(f"{path} is empty: its process was killed as recording began")
        else:
            headers.append((path, header))
    manifest, deaths_ns = _beside_the_events(root, why if recover else None)
    if not headers:
        raise TraceError(f"a trace was expected in {root}, but no file in it can be read: {'; '.join(why)}")
    if not manifest:
        why.append("there is no manifest.json: `rlscope record` did not write this trace, or was killed at once")
    elif manifest.get("complete") is not True:
        why.append("the manifest is not complete: `rlscope record` was killed or is still running")
    return Trace(root, manifest, _processes(headers, manifest, deaths_ns), tuple(why))


def _beside_the_events(root: Path, why: list[str] | None) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the manifest and when processes died, once what lies beside the events is checked.

    Args:
        root: the trace.
        why: gets a sentence for what is damaged; None where that is an error.

    Raises:
        TraceError: a file cannot be read.
        TraceFormatError: a file is damaged.
    """
    manifest: dict[str, Any] = {}
    deaths_ns: dict[str, int] = {}
    try:
        manifest = read_manifest(root)
        deaths_ns = read_deaths(root)
        check_files(root, manifest.get("checksums"))
    except TraceFormatError as error:
        if why is None:
            raise
        why.append(str(error))
    except OSError as error:
        raise TraceError(f"a file of the trace could not be read: {error}; make it readable") from error
    return manifest, deaths_ns


def troubles_of(run: Path) -> list[str]:
    """Return what `rlscope record` cannot do with the windows of a run now, one sentence each."""
    try:
        return read_trouble(run)
    except (OSError, TraceFormatError) as error:
        return [f"what is wrong with the windows could not be read: {error}"]


def _windows_of(run: Path) -> str:
    windows = windows_in(run)
    trouble = "".join(f". Now {sentence}" for sentence in troubles_of(run))
    if not windows:
        how = f"while the program runs, do that with `rlscope window {run} --iterations 20`"
        return f"none has been asked for; {how}{trouble}"
    gone = overwritten(read_manifest(run))
    before = f" and {gone[0]} before them were overwritten" if gone is not None else ""
    return f"it has {len(windows)}{before}; give one, such as {run / windows[-1]}{trouble}"


def read_header(path: Path) -> FileHeader | None:
    """Return a process file's header; None if its process was killed before it wrote one.

    Raises:
        TraceError: the file may not be read.
        TraceFormatError: it is damaged or of another format version.
    """
    try:
        with open_regular(path, MOST_PROCESS_FILE_BYTES) as file:
            if not any(file.read(FILE_HEADER.size)):
                return None
        return FileHeader.unpack(_analysis.header(path))
    except OSError as error:
        raise TraceError(f"a process file could not be read: {error}; make it readable") from error
    except TraceFormatError as error:
        raise TraceFormatError(f"{error}; move the file away, or go on without it with --recover") from error


def _processes(
    headers: list[tuple[Path, FileHeader]], manifest: dict[str, Any], deaths_ns: dict[str, int]
) -> tuple[ProcessFile, ...]:
    clocks = make_clocks(header for _, header in headers)

    def start(item: tuple[Path, FileHeader]) -> tuple[int, Path]:
        path, header = item
        return clocks[clock_id(header)].realtime_ns(header.start_ticks), path

    headers = sorted(headers, key=start)
    main_pid = manifest.get("main_pid")
    recorder = _recorder_boot_id(manifest)
    # Process ids count on each machine, and another one's clock may say anything.
    here = [(path, header) for path, header in headers if recorder in (None, header.boot_id)]
    of_main_pid = [path for path, header in here if header.pid == main_pid]
    # A command that is a shell script is not recorded itself: then the first process that is, is the main one.
    main_path = of_main_pid[-1] if of_main_pid else (here or headers)[0][0]
    end = manifest.get("end")
    end_ns = end.get("monotonic_ns") if isinstance(end, dict) else None
    processes = []
    for path, header in headers:
        clock = clocks[clock_id(header)]
        is_command = bool(of_main_pid) and path == main_path
        processes.append(
            ProcessFile(
                path=path,
                header=header,
                clock=clock,
                file_bytes=path.stat().st_size,
                limit_ticks=_exit_ticks(deaths_ns.get(path.name, end_ns if is_command else None), header, clock),
                is_main=path == main_path,
                exit_status=_exit_status(header, manifest if is_command else {}),
            )
        )
    return tuple(processes)


def _recorder_boot_id(manifest: dict[str, Any]) -> bytes | None:
    machine = manifest.get("machine")
    boot_id = machine.get("boot_id") if isinstance(machine, dict) else None
    try:
        return stored_boot_id(boot_id) if isinstance(boot_id, str) else None
    except ValueError:
        return None


def _exit_ticks(end_ns: object, header: FileHeader, clock: Clock) -> int:
    """Return when `record` saw a process of its own machine end; 0 if it did not."""
    if type(end_ns) is not int or not 0 <= end_ns < 1 << 62:
        return 0
    ticks = clock.ticks_at(end_ns)
    return ticks if header.start_ticks <= ticks < 1 << 62 else 0


def _exit_status(header: FileHeader, manifest: dict[str, Any]) -> int | None:
    status = manifest.get("exit_status")
    return status if isinstance(status, int) and abs(status) < 1 << 31 else header.exit_code


def counters_path(directory: Path, uuid: str) -> Path:
    """Return the file of the device `uuid` in the trace in `directory`."""
    return directory / f"{COUNTERS_PREFIX}{uuid}{COUNTERS_SUFFIX}"


def counter_files(directory: str | os.PathLike[str]) -> list[Path]:
    """Return the files of the trace in `directory` that hold samples, by name; none in a run without counters.

    Raises:
        TraceError: the directory cannot be read.
    """
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise TraceError(f"the trace could not be read: {error}; make it readable") from error
    return [
        Path(directory, name) for name in names if name.startswith(COUNTERS_PREFIX) and name.endswith(COUNTERS_SUFFIX)
    ]
