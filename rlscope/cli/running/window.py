"""The verb `window` records a part of a running job: some iterations, or some seconds."""

import shlex
from pathlib import Path

import click

from rlscope.cli.given.options import NamedPath
from rlscope.cli.running.patience import says_processes, window_of
from rlscope.errors import UsageError
from rlscope.monitor.windows.job import Job
from rlscope.monitor.windows.window_keeper import LONGEST_S


@click.command()
@click.argument("directory", metavar="[DIR]", default=Path("trace"), type=NamedPath(is_trace=True))
@click.option("--iterations", type=click.IntRange(min=1), help="Whole iterations of the training loop to record.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True, max=1e9),
    help=f"Seconds to record; of iterations the most, {LONGEST_S:.0f} unless they are given.",
)
def window(directory: Path, iterations: int | None, seconds: float | None) -> None:
    """Record a part of the job that `rlscope record --idle -o DIR` has started (default: trace).

    The job ends the window itself: it does not matter if this command is ended.

    \b
    Examples:
      rlscope window trace --iterations 20
      rlscope window trace --seconds 10
    """
    if iterations is None and seconds is None:
        raise UsageError("expected --iterations N or --seconds S, which say how long to record")
    job = Job(directory)
    longest_s = LONGEST_S if seconds is None else seconds
    with window_of(job, iterations, longest_s) as trace:
        job.await_end(trace, longest_s, says_processes(job))
    click.echo(f"{trace} is complete; look at it: rlscope analyze {shlex.quote(str(trace))}")
