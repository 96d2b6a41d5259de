"""This file makes the document of `rlscope forecast --json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlscope.analysis.run_tables import RunTables
from rlscope.forecast.forecast import ForecastRow

SCHEMA = 1


@dataclass(frozen=True)
class ForecastDocument:
    """The document that `rlscope forecast --json` prints.

    Attributes:
        schema: The number of the schema of this document.
        command: The command that was recorded; empty if it is unknown.
        forecasts: Those of the changes that were asked for, in their order.
    """

    schema: int
    command: str
    forecasts: tuple[ForecastRow, ...]


def document_of(tables: RunTables, forecasts: Sequence[ForecastRow]) -> dict[str, object]:
    """Return the document as JSON has it."""
    found = ForecastDocument(SCHEMA, tables.command, tuple(forecasts))
    return vars(found) | {"forecasts": [row.record() for row in found.forecasts]}
