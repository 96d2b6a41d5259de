"""The verb `start` begins to record a running job."""

from pathlib import Path

import click

from rlscope.cli.options import NamedPath
from rlscope.cli.running.patience import asked_windows, await_begin


@click.command()
@click.argument("directory", metavar="[DIR]", default=Path("trace"), type=NamedPath(is_trace=True))
def start(directory: Path) -> None:
    """Begin to record the job that `rlscope record --idle -o DIR` has started (default: trace).

    \b
    Example: rlscope start trace
    """
    windows = asked_windows(directory)
    window = windows.begin()
    await_begin(windows, window)
    click.echo(f"{window} is being recorded; end it with: rlscope stop {directory}")
