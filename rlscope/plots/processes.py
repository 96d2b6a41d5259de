"""This file draws processes on one time axis: their phases, who waited for whom, and utilisation beside them."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch

from rlscope.model import NO_PHASE
from rlscope.plots import style
from rlscope.plots.bars import as_label
from rlscope.text.numbers import digits

#: The bars of a phase from left to right: column, label, colour. The last is left out where no device was used.
BARS = (("wall_s", "Total", "#b2182b"), ("cpu_s", "CPU", "#ccf2c4"), ("gpu_s", "GPU", "#2166ac"))
DEPENDENCY, DEPENDENCY_COLOUR = "Dependency", "#00a651"
STRIP_COLOURS, UNKNOWN_COLOUR = "Blues", "0.85"
WIDE_COLUMNS = 6  # more processes side by side are narrow, and their names upright
WIDE_INCHES, NARROW_INCHES = 1.3, 0.5
LANE_INCHES = 0.3  # that a column has at least for each of the phases in it that are at once
GROUP_WIDTH = 0.72  # of a column; the rest is between the bars of two processes
LANE_GAP = 0.04  # of a column
HEIGHT_INCHES = 5.2
STRIP_INCHES, STRIP_GAP_INCHES = 0.26, 0.28
KEY_INCHES = 1.0
LETTER_INCHES = 0.06  # of a name
LINE_INCHES = 0.17
NAME_BOX = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "black", "linewidth": 0.6, "alpha": 0.85}

#: As many others make a process a hub, whose arrows are on one line: so far below the last start, of the time of all.
HUB, HUB_HEIGHT = 4, 0.28

#: Start and end of each thing in one place, in seconds.
Spans = list[tuple[float, float]]


@dataclass(frozen=True)
class Block:
    """One process in one phase, as it is drawn.

    Attributes:
        process: whose.
        phase: of its life.
        column: from the left.
        start_s: its first instant.
        end_s: its last.
        lane: from the left, within the column.
        lanes: that the process has, so that no two of its phases are at the same time in one.
    """

    process: str
    phase: str
    column: int
    start_s: float
    end_s: float
    lane: int = 0
    lanes: int = 1

    @property
    def width(self) -> float:
        """Return the width of its bars together, in columns."""
        return GROUP_WIDTH / self.lanes - (LANE_GAP if self.lanes > 1 else 0)

    @property
    def x(self) -> float:
        """Return the middle of its bars."""
        return self.column + GROUP_WIDTH * ((self.lane + 0.5) / self.lanes - 0.5)

    @property
    def name(self) -> str:
        """Return the name of the process, and of the phase where the process is not named by it."""
        is_named = self.phase == NO_PHASE or self.process.startswith(self.phase)
        return as_label(self.process if is_named else f"{self.process}: {self.phase}")


def process_view(
    phases: pd.DataFrame,
    dependencies: pd.DataFrame,
    utilization: pd.DataFrame,
    device_timeline: pd.DataFrame,
) -> Figure:
    """Draw a group of bars for each process and phase, downwards from its start, and a strip for each utilisation.

    A phase that a process goes through several times is one group, as long as all its pieces together; phases of one
    process that alternate stand side by side. Processes that do not overlap in time may share a column. Time in no
    phase is drawn only if there are no phases.

    Args:
        phases: at least one row: `process`, `phase`, `start_s`, `end_s`, `wall_s`, `cpu_s`, `gpu_s`.
        dependencies: `process` waited in `phase` for messages of the process `on`. Drawn as an arrow, from who sent.
        utilization: of all processor cores: `start_s`, `end_s`, `utilization` (0 to 1); may be empty.
        device_timeline: `device`, `start_s`, `end_s`, `busy` and `reported` (0 to 1, NaN where unknown); may be empty.
    """
    blocks = blocks_of(phases)
    columns = 1 + max(block.column for block in blocks)
    end_s = max(block.end_s for block in blocks)
    strips = strips_of(utilization, device_timeline)
    bars = BARS if len(device_timeline) else BARS[:2]
    with style.paper():
        width = columns * column_inches(columns, blocks)
        inches = width + len(strips) * (STRIP_INCHES + STRIP_GAP_INCHES)
        figure = Figure(figsize=(inches, HEIGHT_INCHES), dpi=200)
        axes = figure.add_axes((0, 0, width / inches, 1))
        axes.set_xlim(-0.5, columns - 0.5)
        axes.set_ylim(1.01 * end_s, -0.03 * end_s)
        axes.set_xticks([])
        axes.set_ylabel("Time since the run began (s)")
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        seconds = {(row["process"], row["phase"]): row for row in phases.to_dict("records")}
        small = [block for block in blocks if is_small(axes, block, blocks) and has_room(block, blocks, columns)]
        for block in blocks:
            draw_bars(axes, block, seconds[block.process, block.phase], bars, block not in small)
        arrows = arrows_of(blocks, dependencies)
        draw_arrows(axes, arrows)
        beside = {block: numbers(seconds[block.process, block.phase], bars) for block in small}
        draw_names(axes, blocks, columns, beside)
        draw_strips(figure, axes, strips, width / inches, inches)
        handles: list[Patch | Line2D] = [Patch(color=colour, label=label) for _, label, colour in bars]
        if arrows:
            handles.append(Line2D([], [], color=DEPENDENCY_COLOUR, marker=">", markersize=4, label=DEPENDENCY))
        axes.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(0, -0.01), ncols=len(handles), frameon=False, fontsize=7
        )
    return figure


def blocks_of(phases: pd.DataFrame) -> list[Block]:
    """Return what is drawn, each process in a column in which no other is at the same time; the middle one, of
    several.
    """
    named = phases[phases["phase"] != NO_PHASE]
    shown = named if len(named) else phases
    first = shown.groupby("phase")["start_s"].min().rank(method="first")
    order = {
        str(process): (first[rows.loc[rows["start_s"].idxmin(), "phase"]], natural(str(process)))
        for process, rows in shown.groupby("process", sort=False)
    }
    taken: list[Spans] = []
    blocks = []
    for process in sorted(order, key=order.__getitem__):
        rows = shown[shown["process"] == process].sort_values("start_s")
        start_s, end_s = float(rows["start_s"].min()), float(rows["end_s"].max())
        free = free_places(taken, start_s, end_s)
        column = min(free, key=lambda place: abs(place - (len(taken) - 1) / 2)) if free else len(taken)
        if column == len(taken):
            taken.append([])
        taken[column].append((start_s, end_s))
        blocks += blocks_in(column, process, rows)
    return blocks


def blocks_in(column: int, process: str, rows: pd.DataFrame) -> list[Block]:
    """Return the blocks of a process, each phase in a lane in which no other is at the same time.

    Args:
        column: of the process.
        process: its name.
        rows: its phases, by start.
    """
    taken: list[Spans] = []
    lanes = []
    for start_s, end_s in zip(rows["start_s"], rows["end_s"], strict=True):
        lane = min(free_places(taken, start_s, end_s), default=len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((start_s, end_s))
        lanes.append(lane)
    return [
        Block(process, row["phase"], column, row["start_s"], row["end_s"], lane, len(taken))
        for row, lane in zip(rows.to_dict("records"), lanes, strict=True)
    ]


def free_places(taken: Sequence[Spans], start_s: float, end_s: float) -> list[int]:
    """Return the places, of those taken at some times, where nothing is between two times."""
    return [
        place
        for place, spans in enumerate(taken)
        if all(start_s >= other_end or end_s <= other_start for other_start, other_end in spans)
    ]


def natural(name: str) -> list[tuple[str, int, str]]:
    """Return a key that orders worker_2 before worker_10, by numbers of any length, which `int` does not take."""
    parts = ((text, digits.lstrip("0")) for text, digits in re.findall(r"(\D*)(\d*)", name))
    return [(text, len(number), number) for text, number in parts]


def draw_bars(
    axes: Axes, block: Block, seconds: Mapping[str, float], bars: Sequence[tuple[str, str, str]], numbered: bool
) -> None:
    """Draw the bars of a block; numbered, with the seconds of the whole above and those of the device at its end."""
    width = block.width / len(bars)
    left = block.x - block.width / 2
    for number, (column, _, colour) in enumerate(bars):
        axes.bar(left + (number + 0.5) * width, seconds[column], width, bottom=block.start_s, color=colour)
    axes.hlines(block.start_s, left, left + block.width, color="grey", linewidth=0.5)
    if not numbered:
        return
    annotate(axes, digits(seconds["wall_s"]), left, block.start_s, 1.5, "bottom")
    if len(bars) == len(BARS) and seconds["gpu_s"] > 0:
        x = left + (len(bars) - 0.5) * width
        annotate(axes, digits(seconds["gpu_s"]), x, block.start_s + seconds["gpu_s"], -1.5, "top", "center")


def annotate(axes: Axes, text: str, x: float, y: float, points: float, side: str, place: str = "left") -> None:
    """Write a number so many points above a place of the axes."""
    paper = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}
    look: dict[str, Any] = {"size": 6.5, "bbox": paper, "zorder": 6}
    axes.annotate(text, (x, y), (0, points), textcoords="offset points", va=side, ha=place, **look)


def numbers(seconds: Mapping[str, float], bars: Sequence[tuple[str, str, str]]) -> str:
    """Return the seconds of a block whose name stands beside it: "1.68 s, GPU 0.078 s"."""
    of_gpu = f", {BARS[-1][1]} {digits(seconds['gpu_s'])} s" if len(bars) == len(BARS) and seconds["gpu_s"] > 0 else ""
    return f"{digits(seconds['wall_s'])} s{of_gpu}"


def inches_per_second(axes: Axes) -> float:
    """Return how long a second is."""
    return HEIGHT_INCHES / abs(axes.get_ylim()[0] - axes.get_ylim()[1])


def is_small(axes: Axes, block: Block, blocks: Sequence[Block]) -> bool:
    """Return whether a block's bars have no room for its name, or end another's in whose bars its numbers would be."""
    second_inches = inches_per_second(axes)
    columns = 1 + max(other.column for other in blocks)
    needed = 2.5 * LINE_INCHES if columns <= WIDE_COLUMNS else LETTER_INCHES * len(block.name) + LINE_INCHES
    is_below = any(
        other.column == block.column and 0 <= second_inches * (block.start_s - other.end_s) < LINE_INCHES
        for other in blocks
        if other is not block
    )
    return block.lanes == 1 and (is_below or second_inches * (block.end_s - block.start_s) < needed)


def draw_names(axes: Axes, blocks: Sequence[Block], columns: int, beside: Mapping[Block, str]) -> None:
    """Write each block's name over its bars.

    Args:
        axes: with the bars.
        blocks: all.
        columns: of them.
        beside: those whose names stand beside them, with what is said after the name.
    """
    is_wide = columns <= WIDE_COLUMNS
    second_inches = inches_per_second(axes)
    lowest: dict[int, float] = {}
    for block in blocks:
        is_beside = block in beside
        is_level = is_beside or (is_wide and block.lanes == 1)
        x, y = block.x, (block.start_s + block.end_s) / 2
        if is_beside:
            x += block.width / 2 + 0.08
            y = max(y, lowest.get(block.column, -math.inf) + LINE_INCHES / second_inches)
            lowest[block.column] = y
        axes.text(
            x,
            y,
            f"{block.name}: {beside[block]}" if is_beside else block.name,
            ha="left" if is_beside else "center",
            va="center",
            size=6.5,
            rotation="horizontal" if is_level else "vertical",
            bbox=NAME_BOX,
            zorder=5,
        )


def has_room(block: Block, blocks: Sequence[Block], columns: int) -> bool:
    """Return whether nothing else is right of a block, in the columns that its name would cover."""
    covered = math.ceil(LETTER_INCHES * len(block.name) / column_inches(columns, blocks))
    beside = range(block.column + 1, block.column + 1 + covered)
    return beside.stop <= columns and not any(
        other.column in beside and other.start_s < block.end_s and other.end_s > block.start_s for other in blocks
    )


def column_inches(columns: int, blocks: Iterable[Block]) -> float:
    """Return the width of each of so many columns."""
    inches = WIDE_INCHES if columns <= WIDE_COLUMNS else NARROW_INCHES
    lanes = max(block.lanes for block in blocks)
    return max(inches, lanes * LANE_INCHES)


def arrows_of(blocks: Sequence[Block], dependencies: pd.DataFrame) -> dict[tuple[Block, Block], bool]:
    """Return who sent to whom, and whether the other way too, where both are at once.

    The sender's block is its last one that starts before the receiver's ends. Where the receiver's phase is not drawn,
    it is the first that ends after the sender's begins.
    """
    own: dict[str, list[Block]] = {}
    for block in blocks:
        own.setdefault(block.process, []).append(block)
    arrows: dict[tuple[Block, Block], bool] = {}
    for row in dependencies.to_dict("records"):
        senders, receivers = own.get(row["on"], []), own.get(row["process"], [])
        of_phase = [block for block in receivers if block.phase == row["phase"]]
        later = [block for block in receivers if senders and block.end_s > senders[0].start_s]
        for target in (of_phase or later)[:1]:
            source = next((block for block in reversed(senders) if block.start_s < target.end_s), None)
            if source and (target, source) in arrows and at_once(source, target):
                arrows[target, source] = True
            elif source:
                arrows.setdefault((source, target), False)
    return arrows


def at_once(one: Block, other: Block) -> bool:
    """Return whether two blocks overlap in time."""
    return one.start_s < other.end_s and other.start_s < one.end_s


def draw_arrows(axes: Axes, arrows: Mapping[tuple[Block, Block], bool]) -> None:
    """Draw arrows from the end of who sent to the start of who waited; where both are at once, across, behind the bars:
    those to and from one process with many others lie on one line.
    """
    across = [ends for ends in arrows if at_once(*ends)]
    others: dict[Block, list[Block]] = defaultdict(list)
    for source, target in across:
        others[source].append(target)
        others[target].append(source)
    for ends, both in arrows.items():
        source, target = ends
        start, end = (source.x, source.end_s), (target.x, target.start_s)
        if ends in across:
            side = np.sign(target.x - source.x)
            place = (across.index(ends) + 1) / (len(across) + 1)
            top, bottom = max(source.start_s, target.start_s), min(source.end_s, target.end_s)
            height = top + (bottom - top) * (0.05 + 0.3 * place)
            hub = max(ends, key=lambda block: len(others[block]))
            if len(others[hub]) >= HUB:
                top = max(block.start_s for block in (hub, *others[hub]))
                bottom = min(block.end_s for block in (hub, *others[hub]))
                height = top + HUB_HEIGHT * (bottom - top)
            start = (source.x + side * source.width / 2, height)
            end = (target.x - side * target.width / 2, height)
        axes.add_patch(
            FancyArrowPatch(
                start,
                end,
                arrowstyle="<|-|>" if both else "-|>",
                connectionstyle=f"arc3,rad={0 if ends in across else 0.08 * np.sign(target.x - source.x)}",
                mutation_scale=7,
                shrinkA=0,
                shrinkB=2,
                color=DEPENDENCY_COLOUR,
                linewidth=0.9,
                zorder=0.5 if ends in across else 4,
            )
        )


def strips_of(utilization: pd.DataFrame, device_timeline: pd.DataFrame) -> list[tuple[str, pd.DataFrame, str]]:
    """Return the strips that there is something for: title, table, and its column."""
    strips = [("CPU\nreported", utilization, "utilization")] if len(utilization) else []
    devices = list(device_timeline.groupby("device", sort=False))
    for device, rows in devices:
        name = "GPU" if len(devices) == 1 else f"GPU {device}"
        strips += [(f"{name}\nreported", rows, "reported"), (f"{name}\nbusy", rows, "busy")]
    return strips


def draw_strips(
    figure: Figure,
    beside: Axes,
    strips: Sequence[tuple[str, pd.DataFrame, str]],
    left: float,
    inches: float,
) -> None:
    """Draw the strips on the time axis of `beside`, from `left` (a share of the figure) on, and the key above."""
    colours: Colormap = mpl.colormaps[STRIP_COLOURS].with_extremes(bad=UNKNOWN_COLOUR)
    scale = Normalize(0, 1)
    strip, gap = STRIP_INCHES / inches, STRIP_GAP_INCHES / inches
    for number, (title, rows, value) in enumerate(strips):
        axes = figure.add_axes((left + number * (strip + gap) + gap, 0, strip, 1), sharey=beside)
        edges = [*rows["start_s"], rows["end_s"].iloc[-1]]
        values = np.ma.masked_invalid(rows[value].to_numpy(dtype=float))[:, None]
        axes.pcolormesh([0, 1], edges, values, cmap=colours, norm=scale)
        axes.set_xticks([])
        axes.tick_params(left=False, labelleft=False)
        axes.spines[:].set_visible(False)
        axes.set_title(title, size=6, pad=2)
    if strips:
        key = figure.add_axes((left + gap, 1.06, KEY_INCHES / inches, 0.018))
        bar = figure.colorbar(ScalarMappable(scale, colours), cax=key, orientation="horizontal")
        bar.ax.set_xticks([0, 0.5, 1], ["0 %", "50 %", "100 %"], size=5.5)
        bar.ax.xaxis.set_ticks_position("top")
        bar.ax.set_title("Utilization", size=7, pad=3)
