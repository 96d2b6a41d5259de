"""The verb `compare` says what changed between runs, and may decide whether a change is let by."""

import json
import sys
from pathlib import Path

import click

from rlscope.cli.given.options import NamedPath, force_option
from rlscope.cli.given.traces import names
from rlscope.cli.progress import reading_bar
from rlscope.errors import UsageError
from rlscope.outputs import Output
from rlscope.trace.reader import Trace

FEWEST_SIDES = 2


@click.command()
@click.argument("sides", metavar="A B...", nargs=-1, required=True, type=NamedPath(is_trace=True))
@click.option(
    "--per",
    type=click.Choice(["iteration", "timestep"]),
    help="What times are of; timesteps where an iteration of one side has more of them. Without it iterations, or "
    "whole runs where none is reported.",
)
@click.option(
    "--fail-above",
    type=click.FloatRange(min=0, min_open=True),
    metavar="PERCENT",
    help="Decide: exit status 1 if a side is slower than A by more than this for sure, 3 if that can be neither shown "
    "nor excluded, else 0. Needs three runs of each side.",
)
@click.option(
    "--fail-above-counts",
    type=click.FloatRange(min=0, min_open=True),
    metavar="PERCENT",
    help="Decide by counts: exit status 1 if every run of a side calls, crosses, launches, copies or writes more than "
    "any run of A by more than this. One run of each side suffices.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--html", "html", metavar="FILE", type=NamedPath(), help="Write a page with the comparison.")
@force_option
@click.option("--recover", is_flag=True, help="Step over damaged parts of a trace instead of stopping there.")
def compare(
    sides: tuple[Path, ...],
    per: str | None,
    fail_above: float | None,
    fail_above_counts: float | None,
    as_json: bool,
    html: Path | None,
    force: bool,
    recover: bool,
) -> int:
    """Show what changed from A to B and further sides: each a trace, a folder of runs of the same thing, or a baseline.

    \b
    Examples:
      rlscope compare before after
      rlscope bench -n 5 -o runs 'python train.py' 'python train.py --compile'
      rlscope compare runs/A runs/B --fail-above 5
    """
    if len(sides) < FEWEST_SIDES:
        raise UsageError("two sides or more were expected, but one was given: rlscope compare A B")
    page = Output(html, force) if html is not None else None
    # With numpy and scipy, for which `rlscope --help` need not wait.
    from rlscope.compare.comparable import sides_of
    from rlscope.compare.comparison import compare as compare_sides
    from rlscope.compare.document import document_of
    from rlscope.compare.folders import open_runs, read_runs
    from rlscope.compare.gate import ABOVE, Gate
    from rlscope.compare.run_times import Unit

    opened = {name: open_runs(path, recover) for name, path in zip(names(sides), sides, strict=True)}
    traces = [run for runs in opened.values() for run in runs if isinstance(run, Trace)]
    with reading_bar("analyzing", traces):
        read = {name: read_runs(runs, recover) for name, runs in opened.items()}
    base, *others = sides_of(read, Unit(per) if per else None)
    found = [compare_sides(base, other) for other in others]
    gate = Gate(fail_above, fail_above_counts)
    statuses = {gate.status(each) for each in found}
    if page is not None:
        from rlscope.page.comparison_part import comparison_page

        with page.writing() as file:
            file.write_text(comparison_page(found, gate), encoding="utf-8")
    if as_json:
        json.dump(document_of(found, gate), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        from rlscope.report.comparison_shown import print_comparison

        for place, each in enumerate(found):
            if place:
                click.echo()
            print_comparison(each, gate)
    return ABOVE if ABOVE in statuses else max(statuses)
