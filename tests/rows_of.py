"""Rows of an analysis from what JSON or a test has of them."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from rlscope.analysis.rows import Rows


def rows_of(row_class: type[Any], records: Iterable[Mapping[str, Any]], **usual: Any) -> Rows[Any]:
    """One row per record; of cells that a record lacks, `usual` has the value, and None stands for all others."""
    names = {field.name.rstrip("_"): field.name for field in fields(row_class)}
    blank = dict.fromkeys(names) | usual
    return Rows(
        row_class,
        (
            row_class(**{names[name]: value for name, value in (blank | dict(record)).items() if name in names})
            for record in records
        ),
    )
