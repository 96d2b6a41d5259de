"""The verb `check` looks in traces for what rules know to be slow, and fails where they find something."""

import json
import sys
from pathlib import Path

import click

from rlscope.analysis.analysis import Analysis
from rlscope.cli.given.options import NamedPath, correct_option, ignore_option, select_option
from rlscope.cli.given.traces import analyze_traces
from rlscope.rules.choice import Choice, choice, codes_in
from rlscope.rules.finding import FindingRow
from rlscope.rules.rule import finding_text
from rlscope.text import printable

#: What GitHub reads in the place of characters that end a message, or a property of it.
_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = _IN_MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


@click.command()
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=NamedPath(is_trace=True))
@click.option(
    "--fail-on",
    metavar="CODES",
    default="RLS",
    show_default=True,
    help="End with status 1 where one of these rules finds something: codes, or how they begin (comma-separated).",
)
@select_option
@ignore_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--github", is_flag=True, help="Print annotations, which GitHub shows at the lines.")
@correct_option
@click.option("--recover", is_flag=True, help="Step over damaged parts of a trace instead of stopping there.")
def check(
    directories: tuple[Path, ...],
    fail_on: str,
    select: str | None,
    ignore: str | None,
    as_json: bool,
    github: bool,
    correct: str,
    recover: bool,
) -> None:
    """Look in the traces in DIR... for what rules know to be slow; end with 1 where they find it, with 0 if not.

    \b
    Examples:
      rlscope check trace
      rlscope check trace --fail-on RLS1,RLS3 --github
    """
    failing = Choice(select=codes_in(fail_on, "--fail-on"))
    shown = choice(select, ignore)
    analyses = {name: shown.of(each) for name, each in analyze_traces(directories, recover, correct).items()}
    found = [(name, row) for name, analysis in analyses.items() for row in analysis.findings]
    if as_json:
        json.dump(_document(analyses), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        for name, row in found:
            click.echo(printable(_annotation(row) if github else _line(name, row)))
    if any(failing.has(row.code) for _, row in found):
        click.get_current_context().exit(1)


def _document(analyses: dict[str, Analysis]) -> dict[str, object]:
    return {"schema": 1, "runs": {name: analysis.findings.records() for name, analysis in analyses.items()}}


def _line(name: str, row: FindingRow) -> str:
    place = f"{row.file}:{row.line}" if row.line else name
    return f"{place}: {finding_text(row)}"


def _annotation(row: FindingRow) -> str:
    """Return a command of GitHub's workflows that says the finding at its line."""
    place = {"file": row.file, "line": str(row.line)} if row.line else {}
    properties = place | {"title": f"{row.code} {row.name}"}
    said = ",".join(f"{name}={value.translate(_IN_PROPERTY)}" for name, value in properties.items())
    return f"::warning {said}::{finding_text(row).translate(_IN_MESSAGE)}"
