"""Rows of several traces as those of one table."""

from collections.abc import Sequence

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.rows import Record, all_records
from rlscope.text import encodable


def joined(analyses: Sequence[Analysis], tables: Sequence[Sequence[Record]]) -> Sequence[Record]:
    """Join the rows; with several traces the first column `trace` says which one a row is of."""
    if len(tables) == 1:
        return tables[0]
    names = [encodable(str(analysis.directory)) for analysis in analyses]
    return all_records(zip(names, tables, strict=True))
