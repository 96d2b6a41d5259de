"""Parts of a whole as lines of a terminal: a name, seconds, a share and a bar."""

from collections.abc import Sequence
from typing import NamedTuple

from rlscope.analysis.outline.tree import Branch, Line
from rlscope.report.screen import Screen, cell_len, padded
from rlscope.text.numbers import duration, duration_ends, percent

LEAST_BAR, MOST_BAR = 12, 40
#: Between two columns, and two more for each level of a tree.
GAP = "  "
#: An interval is said where its width is more than this share of the seconds.
WIDE = 0.01


class Part(NamedTuple):
    """A line: `depth` levels further right; `share` is from 0 to 1, `interval` is text or empty."""

    depth: int
    name: str
    seconds: float
    share: float
    interval: str = ""


def bar_lines(parts: Sequence[Part], screen: Screen) -> list[str]:
    """Return a line for each part; a name that leaves no place for a bar loses its middle."""
    names = [screen.shown(part.name) for part in parts]
    seconds = [screen.shown(duration(part.seconds)) for part in parts]
    shares = [percent(part.share) for part in parts]
    intervals = [screen.shown(part.interval) for part in parts]
    numbers = [column for column in (seconds, intervals, shares) if any(column)]
    widths = [max(map(len, column)) for column in numbers]
    left = screen.width - sum(widths) - len(GAP) * (len(widths) + 2)
    name_width = max(cell_len(name) + len(GAP) * part.depth for name, part in zip(names, parts, strict=True))
    name_width = min(name_width, left - LEAST_BAR)
    bar_width = min(left - name_width, MOST_BAR)
    lines = []
    for row, (name, part) in enumerate(zip(names, parts, strict=True)):
        indent = GAP * part.depth
        cells = [padded(indent + screen.cut(name, name_width - len(indent)), name_width)]
        cells += [padded(column[row], width, is_number=True) for column, width in zip(numbers, widths, strict=True)]
        lines.append(f"{GAP}{GAP.join([*cells, screen.bar(part.share, bar_width)])}".rstrip())
    return lines


def tree_parts(lines: Sequence[Line]) -> list[Part]:
    """Return the lines of a breakdown."""
    return [Part(depth, branch.name, branch.seconds, branch.share, _interval(branch)) for depth, branch in lines]


def _interval(branch: Branch) -> str:
    """Return the ends of the interval; empty where they say no more than the seconds."""
    if branch.high_s - branch.low_s <= WIDE * branch.seconds:
        return ""
    return duration_ends(branch.seconds, branch.low_s, branch.high_s)
