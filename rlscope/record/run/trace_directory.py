"""The directory of a trace: made before recording starts, completed after the program has ended."""

import os
import platform
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rlscope.build import built_from
from rlscope.errors import RecordingError, TraceFormatError, UsageError
from rlscope.record.config import CONFIG_NAME, TRACE_VARIABLE, RecordConfig
from rlscope.record.cupti import NSIGHT_COMPUTE_VARIABLE
from rlscope.record.run.machine import load, machine
from rlscope.record.run.trace_files import COUNTERS_FILE, files_of_trace, lock_trace, remove_trace
from rlscope.trace.manifest import MANIFEST_NAME, crc32_of_file, read_manifest, write_manifest
from rlscope.trace.utilization_file import UTILIZATION_NAME
from rlscope.version import FORMAT_VERSION, __version__

STARTUP_DIRECTORY = Path(__file__).parents[1] / "startup"
#: The library that the CUDA driver loads into each process that uses CUDA; it records their GPU work.
INJECTED_LIBRARY = Path(__file__).resolve().parents[2] / "librlscope.so"
INJECTION_VARIABLE = "CUDA_INJECTION64_PATH"
#: What the manifest says of the cores at the end of a run at which nobody looked.
NO_CORES: Mapping[str, float | None] = {"ready_threads": None, "busy_cores": None}


def begin_trace(
    directory: Path,
    config: RecordConfig,
    command: list[str] | None,
    is_forced: bool,
    calibration: dict[str, Any] | None = None,
) -> int:
    """Make `directory` ready to be recorded into.

    Args:
        directory: Where the trace goes; made if it is not there.
        config: How to record; kept in the directory for every process of the run.
        command: What is recorded, None when a script records itself.
        is_forced: Whether a trace that is there already is removed.
        calibration: What recording costs on this machine, to be kept with the trace; None if nobody measured it.

    Returns:
        A descriptor. As long as it is open, nobody else can record into the directory or replace the trace.

    Raises:
        UsageError: there is a trace, or something else, in the directory.
        RecordingError: the directory cannot be written.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; the trace needs a directory of its own")
    try:
        is_used = directory.is_dir() and any(directory.iterdir())
        if is_used:
            _refuse_unless_replaceable(directory, is_forced)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # a command's words may hold secrets
        lock = lock_trace(directory)
        try:
            if is_used:
                remove_trace(directory)
            (directory / CONFIG_NAME).touch(exist_ok=False)  # of two recordings that start at once, one gets it
            config.save(directory)
            write_manifest(directory, {**_new_manifest(command), "calibration": calibration})
        except BaseException:
            os.close(lock)
            raise
    except FileExistsError as error:
        raise UsageError(f"another recording into {directory} has just started; choose another directory") from error
    except OSError as error:
        raise RecordingError(f"cannot write a trace into {directory}: {error.strerror}") from error
    return lock


def _refuse_unless_replaceable(directory: Path, is_forced: bool) -> None:
    """Refuse a directory that is not empty, unless it holds a trace that may be replaced."""
    if not (directory / MANIFEST_NAME).is_file():
        raise UsageError(f"{directory} holds files that are no trace; choose another directory")
    if not is_forced:
        raise UsageError(f"{directory} holds a trace already; choose another directory, or replace it with --force")
    files_of_trace(directory)


def name_main_process(directory: Path, pid: int) -> None:
    """Note which process the run began with."""
    note_in_manifest(directory, main_pid=pid)


def end_trace(
    directory: Path,
    exit_status: int | None,
    counters: dict[str, Any] | None = None,
    cores: Mapping[str, float | None] = NO_CORES,
) -> None:
    """Note in the manifest that the run has ended, and how.

    Args:
        directory: Of the trace.
        exit_status: Of the command.
        counters: What was sampled of hardware counters, if any was.
        cores: How many threads of all programs were ready to run, and how many cores the command kept busy, on average.
    """
    written = [path for path in directory.iterdir() if _is_checked(path.name)]
    checksums = {path.name: crc32_of_file(path) for path in sorted(written)}
    note_in_manifest(
        directory,
        end={**_now(), **cores},
        exit_status=exit_status,
        complete=True,
        counters=counters,
        checksums=checksums,
    )


def _is_checked(name: str) -> bool:
    return name in (CONFIG_NAME, UTILIZATION_NAME) or COUNTERS_FILE.fullmatch(name) is not None


def note_in_manifest(directory: Path, **changes: object) -> None:
    """Note something in the manifest that `begin_trace` wrote.

    Raises:
        TraceError: it is not there, or another one is: a program may have put a file of its own in its place.
        OSError: it cannot be written.
    """
    manifest = read_manifest(directory)
    if "rlscope_version" not in manifest:
        raise TraceFormatError(f"{directory / MANIFEST_NAME} is not the one that `rlscope record` wrote")
    write_manifest(directory, {**manifest, **changes})


def with_startup(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` with what makes every Python started in it run our start-up hook."""
    paths = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    if str(STARTUP_DIRECTORY) not in paths:
        paths.insert(0, str(STARTUP_DIRECTORY))
    return {**environment, "PYTHONPATH": os.pathsep.join(paths)}


def environment_of_children(directory: Path, config: RecordConfig, environment: dict[str, str]) -> dict[str, str]:
    """`environment` with what makes every Python, and every user of CUDA, started in it record into `directory`."""
    changed = {**with_startup(environment), TRACE_VARIABLE: str(directory)}
    is_free = not environment.get(INJECTION_VARIABLE) and NSIGHT_COMPUTE_VARIABLE not in environment
    if "cuda" in config.layers and INJECTED_LIBRARY.exists() and is_free:
        changed[INJECTION_VARIABLE] = str(INJECTED_LIBRARY)
    return changed


def other_cuda_profiler(config: RecordConfig, environment: dict[str, str]) -> str | None:
    """Says which other tool the work of GPUs goes to and how to get it back, None where nothing is in the way."""
    if "cuda" not in config.layers:
        return None
    if NSIGHT_COMPUTE_VARIABLE in environment:
        return "Nsight Compute runs this program; run it without `ncu`"
    other = environment.get(INJECTION_VARIABLE)
    if not other or os.path.realpath(other) == str(INJECTED_LIBRARY):
        return None
    return f"{INJECTION_VARIABLE} names another tool, {other}; unset it"


def _now() -> dict[str, Any]:
    return {"monotonic_ns": time.monotonic_ns(), "realtime_ns": time.time_ns(), **load()}


def _new_manifest(command: list[str] | None) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "rlscope_version": __version__,
        "built_from": _own_build(),
        "command": command or sys.orig_argv,
        "directory": os.getcwd(),
        "start": _now(),
        "end": None,
        "main_pid": None,
        "exit_status": None,
        "machine": machine(),
        "python": platform.python_version(),
        "configuration": {"file": CONFIG_NAME},
        "complete": False,
    }


@cache
def _own_build() -> dict[str, Any]:
    """Return what this process was built from. In a checkout that takes long, and a run may have many windows."""
    return built_from()
