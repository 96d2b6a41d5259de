"""What a finished trace has in a window that a callback logged while it was recorded."""

from collections import Counter
from pathlib import Path

from rlscope._analysis import sweep
from rlscope.analysis.swept import RowKey
from rlscope.analysis.tables.shares import Shares


def percentages_of(file: Path, window: tuple[int, int]) -> dict[str, float]:
    """What is logged of a window: what the trace has since its start, less what it has since its end."""
    start, end = window
    shares = Shares()
    shares.total = end - start
    rows = _ticks_since(file, start)
    rows.subtract(_ticks_since(file, end))
    for row, ticks in rows.items():
        shares.add("stage", row.stage, ticks)
        shares.add("layer", row.category, ticks)
        if row.phase != "(none)":
            shares.add("phase", row.phase, ticks)
    return {name: value for name, value in shares.percent().items() if value}


def _ticks_since(file: Path, since: int) -> "Counter[RowKey]":
    return Counter({row.key: row.ticks for row in sweep(file, since_ticks=since).breakdown})
