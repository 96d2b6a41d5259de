"""The verb `report` makes figures, tables and a readable page from one or more traces."""

from pathlib import Path

import click

from rlscope.cli.options import NamedPath, correct_option
from rlscope.cli.traces import analyze_traces
from rlscope.errors import UsageError
from rlscope.text import printable


@click.command("report", epilog="Example: rlscope report trace -o report; then open report/index.html")
@click.argument("traces", nargs=-1, required=True, type=NamedPath(), metavar="DIR...")
@click.option("-o", "--output", required=True, type=NamedPath(), metavar="OUT", help="A directory.")
@correct_option
@click.option("--recover", is_flag=True, help="Step over damaged parts of a trace instead of stopping there.")
def report(traces: tuple[Path, ...], output: Path, correct: str, recover: bool) -> None:
    """Write figures, tables and an HTML page that shows them."""
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output}: expected a directory or nothing, found a file. Give another -o")
    from rlscope.report.report_page import write_report  # and matplotlib, for which `rlscope --help` need not wait

    analyses = analyze_traces(traces, recover, correct)
    output.mkdir(parents=True, exist_ok=True)
    for line in write_report(analyses, output):
        click.echo(printable(line))
    click.echo(f"wrote {output / 'index.html'}")
