"""This file shows the last seconds of a run as lines that fit a terminal: `rlscope top`."""

from collections.abc import Sequence
from dataclasses import dataclass

from rlscope.analysis.live.live_rows import SILENT_S, LiveProcess
from rlscope.analysis.live.live_trace import LiveView
from rlscope.analysis.rows import sums
from rlscope.analysis.table_rows import BreakdownRow
from rlscope.analysis.tables.processes import as_tree
from rlscope.model import CATEGORIES
from rlscope.report.screen import Screen, cell_len, padded
from rlscope.text.numbers import duration, percent, prefixed, span

#: A bar has one letter for each of its cells.
LETTERS = {label: category.letter for label, category in CATEGORIES.items()}
LEGEND = "bar: " + ", ".join(f"{letter} {category}" for category, letter in LETTERS.items())
#: In which processes and operations can stand, and what the order is by.
ORDERS = ("tree", "work", "calls")
KEYS = "q quit, p pause, s order, up and down choose, Enter operations"
MOST_GPU_LINES = 4
LEAST_BAR, MOST_BAR = 10, 40
STAGE_CELLS, CALLS_CELLS, WAITS_CELLS, SHARE_CELLS = 15, 7, 14, len("< 0.1 %")
#: The column of numbers, in both tables.
NUMBER_PLACE = 3
GAP = "  "


@dataclass(frozen=True)
class Shown:
    """This says how a view is shown.

    Attributes:
        order: One of `ORDERS`.
        chosen: The line that is chosen; None shows no choice.
        opened: The process whose operations are shown; None shows all processes.
        is_paused: Whether the view stays as it is.
        own_cores: How many cores `rlscope top` itself keeps busy; None if that is not known yet.
    """

    order: str = ORDERS[0]
    chosen: int | None = None
    opened: str | None = None
    is_paused: bool = False
    own_cores: float | None = None


def process_order(view: LiveView, order: str) -> list[tuple[int, LiveProcess]]:
    """Return the processes in the order they are shown in, each with its depth in the tree."""
    if order == "work":
        return [(0, row) for row in sorted(view.processes, key=lambda row: row.wait_s - row.seconds)]
    if order == "calls":
        return [(0, row) for row in sorted(view.processes, key=lambda row: -row.crossings_per_s)]
    return as_tree(view.processes)


def live_lines(view: LiveView, screen: Screen, height: int | None = None, shown: Shown = Shown()) -> list[str]:
    """Return the view in lines of at most `screen.width` cells, at most `height` of them.

    Of more processes than there is place for, those around the chosen one are shown.
    """
    head = [*_head(view, screen, shown), *_gpu_lines(view, screen)]
    table = (
        _process_table(view, screen, shown) if shown.opened is None else _operation_table(view, screen, shown.opened)
    )
    foot = [] if shown.chosen is None else ["", KEYS]
    if height is not None:
        table = _scrolled(table, max(height - len(head) - len(foot), 2), shown.chosen or 0)
        foot = [""] * (height - len(head) - len(table) - len(foot)) + foot
    return [screen.cut(line, screen.width) for line in [*head, *table, *foot][:height]]


def _head(view: LiveView, screen: Screen, shown: Shown) -> list[str]:
    state = "paused" if shown.is_paused else "recording" if view.is_recording else "ended"
    own = "" if shown.own_cores is None else f"top: {percent(shown.own_cores)} of a core"
    title = screen.shown(f"{view.directory}: {state}, {span(view.start_s, view.end_s)}")
    title = screen.cut(title, screen.width - len(own) - len(GAP))
    stuck = screen.filled(screen.shown(f"stuck: {view.stuck}"), following=GAP) if view.stuck else []
    troubles = [screen.shown(f"trouble: {sentence}") for sentence in view.troubles]
    return [
        (padded(title, screen.width - len(own)) + own).rstrip(),
        *stuck,
        *troubles,
        _progress_line(view),
        LEGEND,
        "",
    ]


def _progress_line(view: LiveView) -> str:
    rates = view.rates
    parts = []
    if rates.iterations_per_s is not None and rates.timesteps_per_s is not None:
        parts += [
            f"{prefixed(rates.iterations_per_s)} iterations/s",
            f"{prefixed(rates.timesteps_per_s)} timesteps/s",
        ]
    if rates.timesteps is not None:
        total = f" of {rates.total_timesteps:,}" if rates.total_timesteps else ""
        parts.append(f"timestep {rates.timesteps:,}{total}")
    if rates.remaining_s is not None:
        parts.append(f"{duration(rates.remaining_s)} left")
    if view.dropped_events:
        parts.append(f"{view.dropped_events:,} events dropped")
    return ", ".join(parts) or "no report of progress"


def _gpu_lines(view: LiveView, screen: Screen) -> list[str]:
    length_s = view.end_s - view.start_s
    lines = []
    for row in view.gpu:
        reported = "" if row.reported_utilization is None else f", reported {percent(row.reported_utilization)}"
        name = f" ({screen.shown(row.name)})" if row.name else ""
        lines.append(f"GPU {row.device}{name}: busy {percent(min(row.busy_s / length_s, 1.0))}{reported}")
    if len(lines) > MOST_GPU_LINES:
        lines[MOST_GPU_LINES - 1 :] = [f"{len(lines) - MOST_GPU_LINES + 1} more GPUs"]
    return [*lines, ""] if lines else []


def _process_table(view: LiveView, screen: Screen, shown: Shown) -> list[str]:
    rows = process_order(view, shown.order)
    names = [screen.shown(GAP * depth + row.process) for depth, row in rows]
    left = screen.width - STAGE_CELLS - CALLS_CELLS - WAITS_CELLS - 4 * len(GAP) - len(GAP)
    name_cells = min(max([len("process"), *map(cell_len, names)]), left - LEAST_BAR)
    bar_cells = min(left - name_cells, MOST_BAR)
    widths = (name_cells, STAGE_CELLS, bar_cells, CALLS_CELLS, WAITS_CELLS)
    lines = [
        _line(("process", "stage", f"share of {duration(view.end_s - view.start_s)}", "calls/s", "waits for"), widths)
    ]
    for place, (name, (_, row)) in enumerate(zip(names, rows, strict=True)):
        bar = letter_bar({label: getattr(row, f"{label}_s") for label in CATEGORIES}, row.seconds, bar_cells)
        cells = (name, screen.shown(row.stage), bar, prefixed(row.crossings_per_s), screen.shown(_state(row)))
        line = _line([screen.cut(cell, width) for cell, width in zip(cells, widths, strict=True)], widths)
        lines.append((">" if place == shown.chosen else " ") + line[1:])
    return lines


def _state(row: LiveProcess) -> str:
    if row.has_ended:
        return "ended"
    return f"silent {duration(row.silent_s)}" if row.silent_s >= SILENT_S else row.waits_for


def _operation_table(view: LiveView, screen: Screen, process: str) -> list[str]:
    rows = [row for row in view.breakdown if row.process == process]
    whole = sum(row.seconds for row in rows)
    seconds = sums(((row.stage, row.operation), row.seconds) for row in rows)
    left = screen.width - STAGE_CELLS - SHARE_CELLS - 3 * len(GAP) - len(GAP)
    name_cells = min(max([len("operation"), *(cell_len(screen.shown(name)) for _, name in seconds)]), left - LEAST_BAR)
    bar_cells = min(left - name_cells, MOST_BAR)
    widths = (name_cells, STAGE_CELLS, bar_cells, SHARE_CELLS)
    lines = [screen.shown(f"  operations of {process}"), _line(("operation", "stage", "layers", "share"), widths)]
    for (stage, operation), of in sorted(seconds.items(), key=lambda item: -item[1]):
        own = [row for row in rows if (row.stage, row.operation) == (stage, operation)]
        share = percent(of / whole) if whole else "-"
        bar = letter_bar(_categories(own), whole, bar_cells)
        cells = (screen.shown(operation), screen.shown(stage), bar, share)
        lines.append(_line([screen.cut(cell, width) for cell, width in zip(cells, widths, strict=True)], widths))
    return lines


def _categories(rows: Sequence[BreakdownRow]) -> dict[str, float]:
    found = sums((row.category, row.seconds) for row in rows)
    return {category: found.get(category, 0.0) for category in CATEGORIES}


def letter_bar(times: dict[str, float], whole: float, width: int) -> str:
    """Return a bar in which each category has as many letters as it has of the whole, rounded at its end.

    Of 10 s with 5 s of Python and 2.5 s of waiting, in 8 cells: "pppp..".
    """
    bar, until = "", 0.0
    for category, seconds in times.items():
        until += seconds
        cells = round(width * min(until / whole, 1.0)) if whole > 0 else 0
        bar += LETTERS[category] * (cells - len(bar))
    return bar


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    texts = [
        padded(cell, width, is_number=place == NUMBER_PLACE)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return GAP + GAP.join(texts).rstrip()


def _scrolled(table: list[str], height: int, chosen: int) -> list[str]:
    """Return the table's head and as many rows as there is place for, the chosen one among them."""
    if len(table) <= height:
        return table
    rows = height - 2
    first = min(max(chosen - rows + 1, 0), len(table) - 1 - rows)
    return [
        table[0],
        *table[1 + first : 1 + first + rows],
        f"  {len(table) - 1} rows, {first + 1} to {first + rows} shown",
    ]
