"""The verb `export` writes a trace as a file that other programs read."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlscope.cli.options import NamedPath, Times, force_option
from rlscope.cli.progress import reading_bar
from rlscope.errors import UsageError
from rlscope.outputs import Output, OutputFolder
from rlscope.trace.reader import open_trace

if TYPE_CHECKING:
    from rlscope.export.run import ExportRun

#: A browser holds about 2 GB, at two to four times the file's size.
MOST_SLICES_OF_A_BROWSER = 20_000_000
FORMATS = ("perfetto", "chrome", "parquet", "folded", "tensorboard")
#: Of the others each is a file.
FOLDERS = ("parquet", "tensorboard")
#: With this ending `parquet` is a file too, of Arrow's format.
ARROW = ".arrow"
COUNTED = {"folded": "lines", "tensorboard": "points"}
#: So many parts of a process's life have a point each in TensorBoard, which shows no more of a series and picks some at
#: random where there are more, and rows in the table of bins.
PARTS = 1000
#: These are of the whole run.
WITHOUT_WINDOW = ("folded", "tensorboard")


@click.command()
@click.argument("trace", metavar="DIR", type=NamedPath(is_trace=True))
@click.option("--to", "target", required=True, type=click.Choice(FORMATS), help="The format.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=NamedPath(),
    metavar="OUT",
    help="The file, compressed if it is FILE.gz; a directory for parquet and tensorboard. Of parquet FILE.arrow holds "
    "the slices alone, in Arrow's format.",
)
@force_option
@click.option(
    "--window",
    type=Times(),
    metavar="A:B",
    help="Only slices between these times, in seconds from the start of the run.",
)
@click.option("--recover", is_flag=True, help="Step over damaged parts of a trace instead of stopping there.")
def export(
    trace: Path, target: str, output: Path, force: bool, window: tuple[float, float] | None, recover: bool
) -> None:
    """Write the trace in DIR as a file for another program.

    \b
    Examples:
      rlscope export trace --to perfetto -o trace.pftrace
      rlscope export trace --to chrome -o part.json.gz --window 10:12.5
      rlscope export trace --to parquet -o tables
      rlscope export trace --to parquet -o slices.arrow
      rlscope export trace --to folded -o trace.folded
      rlscope export trace --to tensorboard -o logs/trace
    """
    if target in WITHOUT_WINDOW and window is not None:
        raise UsageError(f"--window was given, but {target} has sums of the whole run; leave it out")
    if target == "tensorboard" and find_spec("tensorboard") is None:
        raise UsageError("the package tensorboard, which writes its files, was expected; pip install tensorboard")
    place = place_of(target, output, force)
    # With what reads and writes tables, for which `rlscope --help` need not wait.
    from rlscope.export.run import export_run

    opened = open_trace(trace, recover)
    with reading_bar("exporting", (opened, opened)):
        run = export_run(opened, window, recover, PARTS if isinstance(place, OutputFolder) else 0)
        with place.writing() as unfinished:
            count = write_target(run, target, unfinished)
    click.echo(f"wrote {count:,} {COUNTED.get(target, 'slices')}: {output}")
    if target in ("perfetto", "chrome") and count > MOST_SLICES_OF_A_BROWSER:
        click.echo(
            f"a browser holds about {MOST_SLICES_OF_A_BROWSER:,} slices; for a part of the run add --window, as in "
            "--window 10:12.5",
            err=True,
        )


def place_of(target: str, output: Path, is_forced: bool) -> Output | OutputFolder:
    """Return what a target is written as: a folder, or a file, as the slices of `parquet` in Arrow's format are."""
    if target in FOLDERS and (target, output.suffix) != ("parquet", ARROW):
        return OutputFolder(output, is_forced, is_alone=True)
    if target == "folded":
        from rlscope.export.folded import is_folded

        return Output(output, is_forced, is_folded)
    return Output(output, is_forced)


def write_target(run: ExportRun, target: str, output: Path) -> int:
    """Write into the folder or file, and return how many slices, lines or points it has.

    A folder needs `PARTS` bins per process.
    """
    if target == "parquet" and output.is_dir():
        from rlscope.export.parquet import write_parquet

        return write_parquet(run, output)
    if target == "parquet":
        from rlscope.export.arrow import write_arrow

        return write_arrow(run, output)
    if target == "tensorboard":
        from rlscope.export.tensorboard import write_tensorboard

        return write_tensorboard(run, output)
    writer: Callable[[ExportRun, Callable[[bytes], object]], int]
    if target == "perfetto":
        from rlscope.export.perfetto import write_perfetto as writer
    elif target == "chrome":
        from rlscope.export.chrome import write_chrome as writer
    else:
        from rlscope.export.folded import write_folded as writer
    from rlscope.export.files import stream

    with stream(output) as file:
        return writer(run, file.write)
