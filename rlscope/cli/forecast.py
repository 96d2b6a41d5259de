"""The verb `forecast` says how many times as fast a recorded training would be with a change."""

import json
import sys
from pathlib import Path

import click

from rlscope.cli.given.options import NamedPath, correct_option
from rlscope.cli.given.traces import analyze_traces
from rlscope.forecast.change import FORMS, change_of


@click.command()
@click.argument("directory", metavar="DIR", type=NamedPath(is_trace=True))
@click.option(
    "--change", "changes", metavar="CHANGE", multiple=True, required=True,
    help=f"What is changed: {FORMS}. NAME is a function, an operation, a stage or a purpose. Each one is alone.",
)  # fmt: skip
@click.option(
    "--beside", metavar="DIR", type=NamedPath(is_trace=True),
    help="The same training recorded with another number of environments, from which `environments=` learns what a "
    "batch and what each environment takes.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@correct_option
@click.option("--recover", is_flag=True, help="Step over damaged parts of a trace instead of stopping there.")
def forecast(
    directory: Path, changes: tuple[str, ...], beside: Path | None, as_json: bool, correct: str, recover: bool
) -> None:
    """Say how many times as fast the training in DIR would be with a change, with an interval of 90 %.

    \b
    Examples:
      rlscope forecast trace --change evaluation=1/10
      rlscope forecast trace --change simulation=2x --change copy.deepcopy=gone --json
    """
    asked = [change_of(text) for text in changes]
    directories = [directory] if beside is None else [directory, beside]
    analysis, *others = analyze_traces(directories, recover, correct).values()
    from rlscope.forecast.document import document_of
    from rlscope.forecast.forecast import forecast_of
    from rlscope.report.forecast_shown import print_forecasts

    found = [forecast_of(analysis, change, *others) for change in asked]
    if as_json:
        json.dump(document_of(analysis, found), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_forecasts(found)
