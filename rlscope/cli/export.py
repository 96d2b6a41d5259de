"""The verb `export` writes a trace as a file that other programs read."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlscope.cli.given.options import NamedPath, Times, force_option
from rlscope.cli.progress import reading_bar
from rlscope.errors import UsageError
from rlscope.outputs import Output, OutputFolder, is_marked
from rlscope.trace.reader import open_trace

if TYPE_CHECKING:
    from rlscope.export.run import ExportRun


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format that a trace is written in, by `write_NAME` of `rlscope/export/NAME.py`.

    That gets the run, and what takes the bytes of the file, or the path of the folder; it returns how much it wrote.
    A format without a place for rlscope's mark has `is_NAME` beside it, which tells its files.

    Attributes:
        counted: What it has, and `write_NAME` counts.
        is_folder: Whether it is a directory.
        has_window: Whether a part of a run can be written; else it has sums of the whole.
        is_for_browsers: Whether browsers show it, which hold a part of a long run.
        package: What has to be installed for it.
    """

    counted: str = "slices"
    is_folder: bool = False
    has_window: bool = True
    is_for_browsers: bool = False
    package: str = ""


FORMATS = {
    "perfetto": Format(is_for_browsers=True),
    "chrome": Format(is_for_browsers=True),
    "parquet": Format(is_folder=True),
    "folded": Format(counted="lines", has_window=False),
    "tensorboard": Format(counted="points", is_folder=True, has_window=False, package="tensorboard"),
}
#: A file with this ending is written for `parquet` too: the slices alone, in Arrow's format.
ARROW = ".arrow"
#: A browser holds about 2 GB, at two to four times the file's size.
MOST_SLICES_OF_A_BROWSER = 20_000_000
#: So many parts of a process's life have a point each in TensorBoard, which shows no more of a series and picks some at
#: random where there are more, and rows in the table of bins.
PARTS = 1000


@click.command()
@click.argument("trace", metavar="DIR", type=NamedPath(is_trace=True))
@click.option("--to", "target", required=True, type=click.Choice(tuple(FORMATS)), help="The format.")
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
    written = FORMATS[target]
    if not written.has_window and window is not None:
        raise UsageError(f"--window was given, but {target} has sums of the whole run; leave it out")
    if written.package and find_spec(written.package) is None:
        raise UsageError(
            f"the package {written.package}, which writes its files, was expected; pip install {written.package}"
        )
    is_arrow = target == "parquet" and output.suffix == ARROW
    place = place_of("arrow" if is_arrow else target, written.is_folder and not is_arrow, output, force)
    # With what reads and writes tables, for which `rlscope --help` need not wait.
    from rlscope.export.run import export_run

    opened = open_trace(trace, recover)
    with reading_bar("exporting", (opened, opened)):
        run = export_run(opened, window, recover, PARTS if isinstance(place, OutputFolder) else 0)
        with place.writing() as unfinished:
            count = write_target(run, "arrow" if is_arrow else target, unfinished)
    click.echo(f"wrote {count:,} {written.counted}: {output}")
    if written.is_for_browsers and count > MOST_SLICES_OF_A_BROWSER:
        click.echo(
            f"a browser holds about {MOST_SLICES_OF_A_BROWSER:,} slices; for a part of the run add --window, as in "
            "--window 10:12.5",
            err=True,
        )


def place_of(name: str, is_folder: bool, output: Path, is_forced: bool) -> Output | OutputFolder:
    """Return the folder or the file that is to be written by `rlscope/export/NAME.py`."""
    if is_folder:
        return OutputFolder(output, is_forced, is_alone=True)
    is_known = getattr(import_module(f"rlscope.export.{name}"), f"is_{name}", is_marked)
    return Output(output, is_forced, is_known)


def write_target(run: ExportRun, name: str, output: Path) -> int:
    """Write into the folder or file, and return how many slices, lines or points it has.

    A folder needs `PARTS` bins per process.
    """
    write = getattr(import_module(f"rlscope.export.{name}"), f"write_{name}")
    if output.is_dir() or name == "arrow":
        return int(write(run, output))
    from rlscope.export.files import stream

    with stream(output) as file:
        return int(write(run, file.write))
