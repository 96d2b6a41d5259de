"""Rows of tables as JSON has them."""

from typing import Any

import pandas as pd


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A table's rows as dicts of plain Python values; missing values become None."""
    columns = [[None if pd.isna(value) else value for value in table[name].tolist()] for name in table.columns]
    return [dict(zip(table.columns, row, strict=True)) for row in zip(*columns, strict=True)]
