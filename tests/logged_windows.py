"""What a finished trace has in a window that a callback logged while it was recorded."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from rlscope._analysis import sweep
from rlscope.analysis.swept import RowKey
from rlscope.analysis.tables.shares import Shares

WAIT, NO_CORE = (f"rlscope/layer/{layer}_percent" for layer in ("wait", "no_core"))


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


def settled(percentages: Mapping[str, float]) -> dict[str, float]:
    """The same with both kinds of waiting as one: whether a wait was for a core, too, is known when it has ended."""
    found = dict(percentages)
    waiting = found.pop(WAIT, 0.0) + found.pop(NO_CORE, 0.0)
    return found | ({WAIT: waiting} if waiting else {})


def _ticks_since(file: Path, since: int) -> "Counter[RowKey]":
    return Counter({row.key: row.ticks for row in sweep(file, since_ticks=since).breakdown})
