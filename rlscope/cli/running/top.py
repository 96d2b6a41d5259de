"""The verb `top` shows what a training does now, from the trace that is being recorded."""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from rlscope.analysis.live.live_rows import SILENT_S
from rlscope.analysis.live.live_run import LiveRun
from rlscope.analysis.live.live_standing import standing
from rlscope.analysis.live.live_trace import LiveView
from rlscope.cli.given.options import NamedPath
from rlscope.errors import UsageError
from rlscope.monitor.process_look import look_at
from rlscope.trace.reader import open_trace


@click.command()
@click.argument("directory", metavar="[DIR]", default=Path("trace"), type=NamedPath(is_trace=True))
@click.option("--once", is_flag=True, help="Print the last seconds once, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document per look, one a line.")
@click.option(
    "--every",
    "every_s",
    metavar="S",
    type=click.FloatRange(min=0.1),
    default=1.0,
    show_default=True,
    help="Look again after so many seconds.",
)
def top(directory: Path, once: bool, as_json: bool, every_s: float) -> None:
    """Show the last five seconds of the recording in DIR (default: trace), again and again, while it goes on.

    Of a run that is recorded in windows it shows the newest one.

    \b
    Examples:
      rlscope top
      rlscope top trace --once --json
    """
    run = LiveRun(directory)
    if once or as_json:
        while True:
            _print(_look(run), as_json)
            if once:
                return
            time.sleep(every_s)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("a terminal was expected, but there is none; take --once, or --json")
    from rlscope.report.live.live_screen import show_live  # and curses, which JSON does not need

    show_live(lambda: _look(run), every_s)


def _look(run: LiveRun) -> LiveView:
    """Return the last seconds; where a process is silent, with whether the run is stuck."""
    view = run.look()
    if not view.is_recording or all(row.has_ended or row.silent_s < SILENT_S for row in view.processes):
        return view
    trace = open_trace(view.directory, recover=True)
    found = standing(trace, look_at(trace))
    return replace(view, stuck=found.sentence) if found.is_stuck else view


def _print(view: LiveView, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(view.to_json_dict()) + "\n")
    else:
        from rlscope.report.live.live_lines import live_lines
        from rlscope.report.screen import Screen

        sys.stdout.write("\n".join(live_lines(view, Screen.of_stdout())) + "\n")
    sys.stdout.flush()
