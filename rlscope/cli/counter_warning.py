"""Says on standard error which runs were recorded with counters, for verbs whose output has no place for it."""

from collections.abc import Iterable

import click

from rlscope.analysis.breakdown import Analysis
from rlscope.cli.counter_lines import NOT_COMPARABLE
from rlscope.text import printable


def warn_of_counters(analyses: Iterable[Analysis]) -> None:
    """One line for each run with counters."""
    for analysis in analyses:
        if analysis.counter_runs is not None:
            click.echo(printable(f"{analysis.directory}: {NOT_COMPARABLE}"), err=True)
