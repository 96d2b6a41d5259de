"""The verb `export` writes a trace as a file that other programs read."""

from __future__ import annotations

from pathlib import Path

import click

from rlscope.cli.options import NamedPath, Times
from rlscope.cli.progress import reading_bar
from rlscope.errors import UsageError
from rlscope.trace.reader import open_trace

#: A browser holds about 2 GB, at two to four times the file's size.
MOST_SLICES_OF_A_BROWSER = 20_000_000
FORMATS = ("perfetto",)


@click.command()
@click.argument("trace", metavar="DIR", type=NamedPath(is_trace=True))
@click.option("--to", "target", required=True, type=click.Choice(FORMATS), help="The format.")
@click.option("-o", "--output", required=True, type=NamedPath(), metavar="OUT", help="The file; FILE.gz is compressed.")
@click.option(
    "--window",
    type=Times(),
    metavar="A:B",
    help="Only what was done between these times, in seconds from the start of the run.",
)
@click.option("--recover", is_flag=True, help="Step over damaged parts of a trace instead of stopping there.")
def export(trace: Path, target: str, output: Path, window: tuple[float, float] | None, recover: bool) -> None:
    """Write the trace in DIR as a file for another program.

    \b
    Examples:
      rlscope export trace --to perfetto -o trace.pftrace
      rlscope export trace --to perfetto -o part.pftrace.gz --window 10:12.5
    """
    if output.is_dir():
        raise UsageError(f"{output}: expected a file or nothing, found a directory. Give another -o")
    # With numpy, for which `rlscope --help` need not wait.
    from rlscope.export.files import written
    from rlscope.export.perfetto import write_perfetto
    from rlscope.export.run import export_run

    opened = open_trace(trace, recover)
    with reading_bar("exporting", (opened, opened)):
        run = export_run(opened, window, recover)
        with written(output) as file:
            slices = write_perfetto(run, file.write)
    click.echo(f"wrote {slices:,} slices, {output.stat().st_size:,} bytes: {output}")
    if slices > MOST_SLICES_OF_A_BROWSER:
        click.echo(
            f"a browser holds about {MOST_SLICES_OF_A_BROWSER:,} slices; for a part of the run add --window, as in "
            "--window 10:12.5",
            err=True,
        )
