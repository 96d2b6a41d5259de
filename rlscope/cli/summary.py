"""The verb `record` says at its end by this file how much was recorded, and how to look at it."""

import os
import shlex
from pathlib import Path

from rlscope.cli.progress import reading_bar
from rlscope.errors import RLScopeError
from rlscope.monitor.windows.kept_windows import slow_windows
from rlscope.monitor.windows.run_windows import begun_windows
from rlscope.record.config import HOW_TO_REPORT, RecordConfig
from rlscope.text.numbers import size
from rlscope.trace.files import PROCESS_FILE_SUFFIX
from rlscope.trace.manifest import overwritten, read_manifest, read_unrecorded

#: Kinds of events that a device worked for.
DEVICE_EVENTS = ("kernel", "copy", "memset")


def summary_of(directory: Path, shown: Path, config: RecordConfig, user: int) -> list[str]:
    """Return the lines that recording ends with; before the last one those of named operations that were never met.

    Args:
        directory: What was recorded into.
        shown: The same, as the user calls it.
        config: How it was recorded.
        user: The number of the user that the command ended as.
    """
    if config.idle:
        return [_of_windows(directory, shown, config)]
    from rlscope.analysis.named_operations import unmet_operations
    from rlscope.analysis.sweep import sweep_trace
    from rlscope.trace.reader import open_trace

    if directory.is_dir() and not any(directory.glob(f"*{PROCESS_FILE_SUFFIX}")) and not read_unrecorded(directory):
        return [_why_nothing(shown, user)]
    try:
        trace = open_trace(directory, recover=True)
        with reading_bar("counting what was recorded", [trace]):
            swept = sweep_trace(trace, recover=True)
    except RLScopeError as error:
        return [f"nothing was recorded: {'; '.join(read_unrecorded(directory)) or error}"]
    found = [process.found for process in swept.processes]
    events = sum(sum(process.events.values()) for process in found)
    on_gpus = sum(process.events[kind] for process in found for kind in DEVICE_EVENTS)
    dropped = sum(process.dropped_records + process.dropped_device_records for process in found)
    written = sum(process.file.file_bytes for process in swept.processes)
    gpu = f", {on_gpus:,} of them on GPUs" if on_gpus else ""
    where = f" in {len(swept.processes)} processes" if len(swept.processes) > 1 else ""
    incomplete = f" Incomplete: {swept.why[0]}." if swept.why else ""
    if config.max_iterations is not None and not any(process.trainings for process in found):
        incomplete += f" No iteration was reported, so --max-iterations ended nothing: {HOW_TO_REPORT}."
    return [
        *unmet_operations(swept.processes),
        f"{events:,} events{gpu}{where}, {size(written)}, {dropped:,} dropped.{incomplete} "
        f"Look at it: rlscope report {shlex.quote(str(shown))} -o report",
    ]


def _why_nothing(shown: Path, user: int) -> str:
    if user != os.getuid():
        return (
            f"nothing was recorded: the command ran as user {user}, who may not write into {_quoted(shown)}. Give a "
            "directory with -o that both may write into, or record as that user: gosu USER rlscope record ..."
        )
    return (
        "nothing was recorded: the command started no Python that reads PYTHONPATH and imports sitecustomize, by which "
        "recording starts (with -E, -I or -S it does not), or it ran as a user who may not write into "
        f"{_quoted(shown)}"
    )


def _of_windows(directory: Path, shown: Path, config: RecordConfig) -> str:
    found = begun_windows(directory)
    if config.every is not None:
        if not found:
            return f"no iteration was recorded: fewer than {config.every // 2 + 1} were reported; {HOW_TO_REPORT}"
        return f"{_counted(len(found), 'iteration')} recorded. Look at the whole run: rlscope analyze {_quoted(shown)}"
    if not found:
        return f"no window was asked for; while the command runs, do that with rlscope window {_quoted(shown)}"
    gone = overwritten(read_manifest(directory))
    before = f" are kept; {gone[0]:,} before them, of {size(gone[1])}, were overwritten" if gone is not None else ""
    slow = [name for name in slow_windows(directory) if (directory / name).is_dir()]
    where = f" Slow iterations are in {', '.join(slow)}." if slow else ""
    look = f"Look at the last one: rlscope report {_quoted(shown / found[-1].name)} -o report"
    return f"{_counted(len(found), 'window')}{before}.{where} {look}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number > 1)}"


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
