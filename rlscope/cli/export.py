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
COUNTED = {"folded": "lines", "tensorboard": "points"}
#: TensorBoard shows so many points of a series; of one that has more it picks some at random.
MOST_POINTS = 1000
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
    help="The file, compressed if it is FILE.gz; a new directory for parquet and tensorboard.",
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
      rlscope export trace --to folded -o trace.folded
      rlscope export trace --to tensorboard -o logs/trace
    """
    if target in WITHOUT_WINDOW and window is not None:
        raise UsageError(f"--window was given, but {target} has sums of the whole run; leave it out")
    if target == "tensorboard" and find_spec("tensorboard") is None:
        raise UsageError("the package tensorboard, which writes its files, was expected; pip install tensorboard")
    if output.is_dir() and (target not in FOLDERS or any(output.iterdir())):
        wanted = "a directory that is empty" if target in FOLDERS else "a file"
        raise UsageError(f"{output}: expected {wanted} or nothing, found a directory with files. Give another -o")
    # With what reads and writes tables, for which `rlscope --help` need not wait.
    from rlscope.export.run import export_run

    opened = open_trace(trace, recover)
    with reading_bar("exporting", (opened, opened)):
        bins = MOST_POINTS if target == "tensorboard" else 0
        count = write_target(export_run(opened, window, recover, bins), target, output)
    click.echo(f"wrote {count:,} {COUNTED.get(target, 'slices')}: {output}")
    if target in ("perfetto", "chrome") and count > MOST_SLICES_OF_A_BROWSER:
        click.echo(
            f"a browser holds about {MOST_SLICES_OF_A_BROWSER:,} slices; for a part of the run add --window, as in "
            "--window 10:12.5",
            err=True,
        )


def write_target(run: ExportRun, target: str, output: Path) -> int:
    """Write the file and return how many slices, lines or points it has."""
    from rlscope.export.files import replacing, written

    if target in FOLDERS:
        if target == "parquet":
            from rlscope.export.parquet import write_parquet as write_folder
        else:
            from rlscope.export.tensorboard import write_tensorboard as write_folder
        with replacing(output) as folder:
            folder.mkdir()
            return write_folder(run, folder)
    writer: Callable[[ExportRun, Callable[[bytes], object]], int]
    if target == "perfetto":
        from rlscope.export.perfetto import write_perfetto as writer
    elif target == "chrome":
        from rlscope.export.chrome import write_chrome as writer
    else:
        from rlscope.export.folded import write_folded as writer
    with written(output) as file:
        return writer(run, file.write)
