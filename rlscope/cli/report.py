"""`rlscope report`: figures, tables and a readable page from one or more traces."""

from pathlib import Path

import click

from rlscope.analysis.stage_names import stage_name_lines
from rlscope.cli.advice import advice_lines
from rlscope.cli.correction import correct_option, correction_lines
from rlscope.cli.counter_lines import counter_lines
from rlscope.cli.figures import analyze_traces
from rlscope.cli.paths import NamedPath
from rlscope.cli.report_page import device_lines, write_report
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
    analyses = analyze_traces(traces, recover, correct)
    output.mkdir(parents=True, exist_ok=True)
    write_report(analyses, output)
    for lines in (advice_lines, device_lines, counter_lines, correction_lines, stage_name_lines):
        for name, analysis in analyses.items():
            for line in lines(analysis):
                click.echo(printable(f"{name}: {line}" if len(analyses) > 1 else line))
    click.echo(f"wrote {output / 'index.html'}")
