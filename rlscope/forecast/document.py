"""This file makes the document of `rlscope forecast --json`."""

from collections.abc import Sequence

from rlscope.analysis.run_tables import RunTables
from rlscope.forecast.forecast import ForecastRow

SCHEMA = 1


def document_of(tables: RunTables, forecasts: Sequence[ForecastRow]) -> dict[str, object]:
    """Return the document, schema 1: the command that was recorded, and a record for each forecast."""
    return {"schema": SCHEMA, "command": tables.command, "forecasts": [row.record() for row in forecasts]}
