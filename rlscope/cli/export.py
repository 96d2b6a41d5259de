"""The verb `export` writes a trace as a file that other programs read."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlscope.cli.options import NamedPath, Times
from rlscope.cli.progress import reading_bar
from rlscope.errors import UsageError
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
    help="The file, compressed if it is FILE.gz; a new directory for parquet and tensorboard. Of parquet FILE.arrow "
    "holds the slices alone, in Arrow's format.",
)
@click.option(
    "--window",
    type=Times(),
    metavar="A:B",
    help="Only slices between these times, in seconds from the start of the run.",
)
@click.option("--recover", is_flag=True, help="Step over damaged parts of a trace instead of stopping there.")
def export(trace: Path, target: str, output: Path, window: tuple[float, float] | None, recover: bool) -> None:
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
    is_folder = is_written_as_folder(target, output)
    if output.is_dir() and (not is_folder or any(output.iterdir())):
        wanted = "a directory that is empty" if is_folder else "a file"
        raise UsageError(f"{output}: expected {wanted} or nothing, found a directory with files. Give another -o")
    # With what reads and writes tables, for which `rlscope --help` need not wait.
    from rlscope.export.run import export_run

    opened = open_trace(trace, recover)
    with reading_bar("exporting", (opened, opened)):
        run = export_run(opened, window, recover, PARTS if is_folder else 0)
        count = write_target(run, target, output)
    click.echo(f"wrote {count:,} {COUNTED.get(target, 'slices')}: {output}")
    if target in ("perfetto", "chrome") and count > MOST_SLICES_OF_A_BROWSER:
        click.echo(
            f"a browser holds about {MOST_SLICES_OF_A_BROWSER:,} slices; for a part of the run add --window, as in "
            "--window 10:12.5",
            err=True,
        )


def is_written_as_folder(target: str, output: Path) -> bool:
    """Tell whether a target is a folder of files; the slices of `parquet` may be one file of Arrow's format."""
    return target in FOLDERS and (target, output.suffix) != ("parquet", ARROW)


def write_target(run: ExportRun, target: str, output: Path) -> int:
    """Write the file and return how many slices, lines or points it has. A folder needs `PARTS` bins per process."""
    from rlscope.export.files import replacing, written

    if is_written_as_folder(target, output):
        if target == "parquet":
            from rlscope.export.parquet import write_parquet as write_folder
        else:
            from rlscope.export.tensorboard import write_tensorboard as write_folder
        with replacing(output) as folder:
            folder.mkdir()
            return write_folder(run, folder)
    if target == "parquet":
        from rlscope.export.arrow import write_arrow

        with replacing(output) as file:
            return write_arrow(run, file)
    writer: Callable[[ExportRun, Callable[[bytes], object]], int]
    if target == "perfetto":
        from rlscope.export.perfetto import write_perfetto as writer
    elif target == "chrome":
        from rlscope.export.chrome import write_chrome as writer
    else:
        from rlscope.export.folded import write_folded as writer
    with written(output) as stream:
        return writer(run, stream.write)
