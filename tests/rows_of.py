"""Rows of an analysis from what JSON or a test has of them."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from rlscope.analysis.account.owner_path import owner_path
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.reported import Utilization
from rlscope.analysis.rows import Rows
from rlscope.analysis.tables.loop import loops_of
from rlscope.analysis.tables.samples import TokenRates


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


def bare_analysis(**values: Any) -> Analysis:
    """An analysis of a trace with no rows and no facts but the given ones."""
    found = object.__new__(Analysis)
    vars(found).update(
        dict.fromkeys(Analysis.members()) | {table.name: Rows(table.row_class) for table in Analysis.tables()}
    )
    vars(found).update(directory=Path("trace"), utilization=Utilization(Path("trace")))
    vars(found).update(torn_stacks=0, dropped_events=0, misnested_operations=0, without_stacks=())
    vars(found).update(values)
    vars(found)["token_rates"] = TokenRates()
    loops = loops_of(found.breakdown, found.outside)
    vars(found).update(loops=loops, evaluation_s=loops.evaluation_s)
    vars(found)["path"] = owner_path(found.processes, found.breakdown, loops, found.waits, found.dependencies)
    return found
