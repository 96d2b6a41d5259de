"""The verb `plot` draws one figure from one or more traces."""

from pathlib import Path

import click

from rlscope.cli.given.options import NamedPath, correct_option, force_option
from rlscope.cli.given.traces import analyze_traces, warn_of_counters
from rlscope.errors import UsageError
from rlscope.outputs import Output
from rlscope.report.sentences import correction_lines
from rlscope.text import printable
from rlscope.text.numbers import duration

FORMATS = (".pdf", ".png", ".svg")
NOTHING_TO_SHOW = (
    "no trace has time in a stage or in a training loop. Use `--view complete`, or name "
    'the operations of the script: `with rlscope.operation("inference"):`'
)


@click.command("plot", epilog="Example: rlscope plot breakdown trace -o breakdown.pdf")
@click.argument("kind", type=click.Choice(["breakdown", "transitions"]))
@click.argument("traces", nargs=-1, required=True, type=NamedPath(is_trace=True), metavar="DIR...")
@click.option("-o", "--output", required=True, type=NamedPath(), metavar="FILE", help="PDF, PNG or SVG.")
@click.option("--unit", type=click.Choice(["percent", "seconds"]), default="percent", help="Heights of a breakdown.")
@click.option(
    "--view",
    type=click.Choice(["published", "complete"]),
    default="published",
    help="published: the stages of training. complete: also waiting, idle time and time in no operation.",
)
@force_option
@correct_option
@click.option("--recover", is_flag=True, help="Step over damaged parts of a trace instead of stopping there.")
def plot(
    kind: str,
    traces: tuple[Path, ...],
    output: Path,
    unit: str,
    view: str,
    force: bool,
    correct: str,
    recover: bool,
) -> None:
    """Draw one figure of one or more traces."""
    if output.suffix not in FORMATS:
        raise UsageError(f"{output}: expected a name that ends in {', '.join(FORMATS)}")
    file = Output(output, force)
    # These import matplotlib, for which `rlscope --help` need not wait.
    from rlscope.plots.breakdown import breakdown_figure
    from rlscope.plots.style import save_figure
    from rlscope.plots.transitions import transitions_figure
    from rlscope.report.workloads import complete_view, not_drawn_text, published_view, transitions_view, workloads

    analyses = analyze_traces(traces, recover, correct)
    warn_of_counters(analyses.values())
    shown = workloads(analyses)
    lines = list(filter(None, [not_drawn_text(analyses)]))
    if kind == "transitions":
        table, value = transitions_view(shown)
        if table.empty:
            raise UsageError("no trace has transitions inside a stage")
        figure = transitions_figure(table, value)
    else:
        drawn = published_view(shown) if view == "published" else complete_view(shown)
        if drawn.table.empty:
            raise UsageError(NOTHING_TO_SHOW)
        figure = breakdown_figure(drawn.table, unit, time=drawn.time)
        for name, analysis in analyses.items():
            lines += [f"{name}: {line}" if len(analyses) > 1 else line for line in correction_lines(analysis)]
        if drawn.left_out_s + drawn.evaluation_s > 0:
            lines.append(
                f"left out: {duration(drawn.left_out_s)} in no operation of training{drawn.evaluation_text} "
                "(see --view complete)"
            )
    output.parent.mkdir(parents=True, exist_ok=True)
    with file.writing() as unfinished:
        save_figure(figure, unfinished)
    for line in lines:
        click.echo(printable(line), err=True)
