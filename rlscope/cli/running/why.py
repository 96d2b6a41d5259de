"""The verb `why` says who is stuck, where, since when, and whom each waits for, of a run that goes on or is over."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from rlscope.analysis.live.live_run import newest_trace
from rlscope.analysis.live.live_standing import standing
from rlscope.errors import UsageError
from rlscope.monitor.process_look import look_at
from rlscope.record.config import TRACE_VARIABLE
from rlscope.trace.reader import open_trace


@click.command()
@click.argument("run", metavar="[DIR|PID]", default="trace")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def why(run: str, as_json: bool) -> None:
    """Say where each thread of the recording in DIR (default: trace), or of that which PID is in, is stuck.

    It says since when, in what, for whom each waits, and in whom the chain of waits ends: threads that wait for each
    other, a process that has ended or is stopped, one that computes. No process is held up, and no right is needed but
    to read the trace.

    \b
    Examples:
      rlscope why
      rlscope why trace --json
    """
    trace = open_trace(newest_trace(_directory(run)), recover=True)
    found = standing(trace, look_at(trace))
    if as_json:
        sys.stdout.write(json.dumps(found.to_json_dict()) + "\n")
    else:
        from rlscope.report.live.hang_lines import hang_lines  # which JSON does not need
        from rlscope.report.screen import Screen

        sys.stdout.write("\n".join(hang_lines(found, Screen.of_stdout())) + "\n")


def _directory(run: str) -> Path:
    """Return the directory of a recording, or of the one that the process of this number is in.

    Raises:
        UsageError: that process is in none.
    """
    if not run.isdecimal() or Path(run).is_dir():
        return Path(run)
    with suppress(OSError):
        for setting in Path(f"/proc/{run}/environ").read_bytes().split(b"\0"):
            if setting.startswith(f"{TRACE_VARIABLE}=".encode()):
                return Path(os.fsdecode(setting.partition(b"=")[2]))
    raise UsageError(
        f"a recorded process was expected, but {run} is none of yours that `rlscope record` started; give the "
        "directory of the recording"
    )
