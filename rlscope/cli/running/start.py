"""The verb `start` begins to record a running job."""

from pathlib import Path

import click

from rlscope.cli.given.options import NamedPath
from rlscope.cli.running.patience import window_of
from rlscope.monitor.windows.job import Job
from rlscope.text.numbers import duration


@click.command()
@click.argument("directory", metavar="[DIR]", default=Path("trace"), type=NamedPath(is_trace=True))
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0, min_open=True, max=1e9),
    default=600,
    show_default=True,
    help="Seconds after which the job ends the window, if nobody has.",
)
def start(directory: Path, max_seconds: float) -> None:
    """Begin to record the job that `rlscope record --idle -o DIR` has started (default: trace).

    \b
    Example: rlscope start trace
    """
    with window_of(Job(directory), None, max_seconds) as window:
        click.echo(
            f"{window} is being recorded, for {duration(max_seconds)} at most; end it with: rlscope stop {directory}"
        )
