"""The verb `report` makes a page that shows traces, with the published figures and tables beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlscope.calibration.calibration import chosen
from rlscope.cli.given.options import NamedPath, Times, correct_option, force_option
from rlscope.cli.given.traces import names
from rlscope.cli.progress import reading_bar
from rlscope.outputs import Output, OutputFolder
from rlscope.plots.drawing import second_process
from rlscope.rules.choice import choice
from rlscope.text import printable
from rlscope.trace.reader import open_trace

if TYPE_CHECKING:
    from rlscope.page.make_page import Run

PAGE = "index.html"


@click.command("report", epilog="Example: rlscope report trace -o report; then open report/index.html")
@click.argument("traces", nargs=-1, required=True, type=NamedPath(is_trace=True), metavar="DIR...")
@click.option(
    "-o", "--output", required=True, type=NamedPath(), metavar="OUT", help="A directory; FILE.html for the page only."
)
@click.option(
    "--focus",
    type=Times(),
    metavar="A:B",
    help="The page has every event between these times, in seconds from the start of the run.",
)
@force_option
@correct_option
@click.option("--recover", is_flag=True, help="Step over damaged parts of a trace instead of stopping there.")
def report(
    traces: tuple[Path, ...], output: Path, focus: tuple[float, float] | None, force: bool, correct: str, recover: bool
) -> None:
    """Write a page that shows the traces, and beside it the published figures and their numbers."""
    if output.suffix == ".html" and not output.is_dir():
        page = Output(output, force)
        runs = detailed_runs(traces, focus, correct, recover)
        output.parent.mkdir(parents=True, exist_ok=True)
        with page.writing() as file:
            write_page(runs, file, {})
        click.echo(f"wrote {output}")
        return
    folder = OutputFolder(output, force, page=PAGE)
    folder.check(PAGE)  # others are known only once all is analyzed
    with second_process() as draw:
        runs = detailed_runs(traces, focus, correct, recover)
        # With pandas, for which the page alone need not wait.
        from rlscope.report.report_page import FIGURES, write_report

        with folder.writing() as unfinished:
            write_page(runs, unfinished / PAGE, {"Published figures": FIGURES})
            lines = write_report({run.name: run.analysis for run in runs}, unfinished, draw)
    for line in lines:
        click.echo(printable(line))
    click.echo(f"wrote {output / PAGE}")


def write_page(runs: list[Run], path: Path, links: dict[str, str]) -> None:
    """Write the page that opens first."""
    # With numpy, for which `rlscope --help` need not wait.
    from rlscope.page.make_page import MOST_BYTES, make_page

    page = make_page(runs, links)
    if (size := len(page.encode())) > MOST_BYTES:
        click.echo(f"the page has {size:,} bytes, not at most {MOST_BYTES:,}: the tables of the run are long", err=True)
    path.write_text(page, encoding="utf-8")


def detailed_runs(
    directories: tuple[Path, ...], focus: tuple[float, float] | None, correct: str, recover: bool
) -> list[Run]:
    """Analyzes the traces with what a page shows besides: functions, bins and iterations."""
    from rlscope.page.grid import bins_for
    from rlscope.report.page_run import page_run

    shown = choice(None, None)
    traces = {name: open_trace(path, recover) for name, path in zip(names(directories), directories, strict=True)}
    processes = sum(len(trace.processes) for trace in traces.values())
    with reading_bar("analyzing", traces.values()):
        runs = [
            page_run(name, trace, bins_for(processes), recover, chosen(trace, correct), focus)
            for name, trace in traces.items()
        ]
    return [replace(run, analysis=shown.of(run.analysis)) for run in runs]
