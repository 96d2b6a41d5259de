"""Print forecasts of changes."""

from collections.abc import Sequence

import click

from rlscope.analysis.rows import Record
from rlscope.forecast.forecast import ForecastRow
from rlscope.report.screen import Screen
from rlscope.report.tables import table_lines
from rlscope.text.numbers import digits, digits_ends

TITLE = "How many times as fast the training loop would be, with an interval of 90 %"


def print_forecasts(forecasts: Sequence[ForecastRow]) -> None:
    """Print a table with a row for each change."""
    click.echo("\n".join(table_lines(TITLE, [_record(row) for row in forecasts], Screen.of_stdout())))


def _record(row: ForecastRow) -> Record:
    return {"change": row.change, "times_as_fast": factor_text(row), "of": row.clock, "model": row.model}


def factor_text(row: ForecastRow) -> str:
    """Say a factor with its interval: `1.82 (1.7 to 1.9)`."""
    return f"{digits(row.factor)} {digits_ends(row.low, row.high)}"
