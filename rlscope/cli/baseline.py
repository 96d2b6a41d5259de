"""The verb `baseline` keeps what a comparison needs of runs in a file for a repository."""

from pathlib import Path

import click

from rlscope.cli.given.options import NamedPath, force_option
from rlscope.cli.progress import reading_bar
from rlscope.outputs import Output
from rlscope.trace.reader import Trace


@click.command()
@click.argument("runs", metavar="RUNS", type=NamedPath(is_trace=True))
@click.option("-o", "--output", type=NamedPath(), default="baseline.json", show_default=True, help="The file.")
@force_option
@click.option("--recover", is_flag=True, help="Step over damaged parts of a trace instead of stopping there.")
def baseline(runs: Path, output: Path, force: bool, recover: bool) -> None:
    """Keep what `rlscope compare` needs of RUNS, a trace or a folder of runs of the same thing, in a small file.

    \b
    Examples:
      rlscope baseline runs/A -o baseline.json
      rlscope compare baseline.json runs/B --fail-above-counts 2
    """
    file = Output(output, force)
    # With numpy, for which `rlscope --help` need not wait.
    from rlscope.compare.baseline import baseline_text
    from rlscope.compare.folders import open_runs, read_runs

    opened = open_runs(runs, recover)
    with reading_bar("analyzing", [run for run in opened if isinstance(run, Trace)]):
        read = read_runs(opened, recover)
    with file.writing() as path:
        path.write_text(baseline_text(read), encoding="utf-8")
    click.echo(f"{output}: {'one run' if len(read) == 1 else f'{len(read)} runs'}")
