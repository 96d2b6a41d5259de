"""Reads what the published figures show, so that a study's figure has it in the same axes and its page beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.transforms import blended_transform_factory

from experiments.harness.typed_toml import KEY, parsed, read_toml
from rlscope.plots.bars import OUTLINE, Outlines

FILE = "published.csv"
FIGURES = "published.toml"


@dataclass(frozen=True)
class Line:
    """A published value as a line across the axes of a figure.

    Attributes:
        label: what it is of, with its value; empty where the legend says it.
        x: where it stands, if it is upright.
        y: where it lies, if it is level.
        panel: the label of the axes that it is drawn in; empty for all.
    """

    label: str
    x: float | None = None
    y: float | None = None
    panel: str = ""

    #: The same as of outlines.
    look: ClassVar[Mapping[str, Any]] = {
        "color": OUTLINE["edgecolor"],
        "linestyle": OUTLINE["linestyle"],
        "linewidth": 1.1,
    }

    def draw(self, axes: Axes) -> None:
        """Draw it, with its label at its end."""
        paper = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
        text = {"color": OUTLINE["edgecolor"], "size": 6.5, "textcoords": "offset points", "bbox": paper}
        if self.y is not None:
            axes.axhline(self.y, **self.look)
            place = blended_transform_factory(axes.transAxes, axes.transData)
            axes.annotate(self.label, (1, self.y), (-3, 1.5), xycoords=place, ha="right", va="bottom", **text)
        if self.x is not None:
            axes.axvline(self.x, **self.look)
            place = blended_transform_factory(axes.transData, axes.transAxes)
            axes.annotate(
                self.label, (self.x, 0), (-2, 4), xycoords=place, rotation=90, ha="right", va="bottom", **text
            )


@dataclass(frozen=True)
class PublishedFigure:
    """A published figure that is drawn again, or what stands for one; an entry of published.toml.

    Attributes:
        number: of the figure in what was published; empty where there is no such figure.
        stem: of the study's files.
        compared: what both show.
        values: how the study's figure shows the published values, or that none were published: sentences.
        lines: published values that lie across the axes.
    """

    number: str
    stem: str
    compared: str
    values: str
    lines: tuple[Line, ...] = field(default=(), metadata={KEY: "line"})

    @property
    def name(self) -> str:
        """Return "Figure 5"; empty for one that was not published."""
        return f"Figure {self.number}" if self.number else ""


@dataclass(frozen=True)
class Source:
    """The contents of a published.toml.

    Attributes:
        source: what was published, in a sentence: "RL-Scope's paper".
        machine: on which it was measured.
        figures: those that are drawn again.
    """

    source: str
    machine: str
    figures: tuple[PublishedFigure, ...] = field(metadata={KEY: "figure"})


class Published:
    """The figures that a study draws again.

    Attributes:
        source: what was published, on which machine, with which figures.
    """

    def __init__(self, study: Path) -> None:
        """Read the files of a study's folder."""
        self._study = study
        self.source = parsed(Source, read_toml(study / FIGURES), str(study / FIGURES))

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return the bars of published figures.

        Returns:
            Of published.csv: stem, of the study's figure; panel, its letter if it has several; workload; and the
            heights of its bars, a column for each, as a rule training_s and the stages, in percent, in seconds or in
            transitions per timestep. What cannot be read off the published figure is empty.
        """
        return pd.read_csv(self._study / FILE, comment="#", dtype={"panel": object}).fillna({"panel": ""})

    def figure(self, stem: str) -> PublishedFigure | None:
        """Return the published figure that one of the study's shows again."""
        return next((figure for figure in self.source.figures if figure.stem == stem and figure.number), None)

    def lines(self, stem: str) -> Sequence[Line]:
        """Return the published values that lie across the axes of a figure."""
        figure = self.figure(stem)
        return figure.lines if figure else ()

    def heading(self, stem: str, title: str) -> str:
        """Return the heading over a figure: "Figure 5: Walker2DBulletEnv-v0"."""
        figure = self.figure(stem)
        return f"{figure.name}: {title}" if figure else title

    def caption(self, stem: str, caption: str) -> str:
        """Return the caption of a figure, which names the published one first."""
        figure = self.figure(stem)
        if figure is None:
            return caption
        return f"{figure.name} of {self.source.source}, recorded here. {caption} {figure.values}".rstrip()

    def outlines(self, stem: str, panel: str = "") -> Outlines | None:
        """Return what the published figure shows in a panel; None where there is none."""
        rows = self.table[(self.table["stem"] == stem) & (self.table["panel"] == panel)].set_index("workload")
        if rows.empty:
            return None
        return Outlines(rows.drop(columns=["stem", "panel"]), f"as published\n({self.source.machine})")

    def beside(self, stem: str, table: pd.DataFrame, value: str, panel: str = "") -> pd.DataFrame:
        """Return published heights of bars beside the measured ones.

        Args:
            stem: of the study's figure.
            table: what the figure draws, as from `breakdown_table` or `transitions_table`.
            value: the column that it draws.
            panel: of the figure.

        Returns:
            workload, stage, published, measured; no rows for a figure that was not published.
        """
        outlines = self.outlines(stem, panel)
        if outlines is None:
            return pd.DataFrame(columns=["workload", "stage", "published", "measured"])
        measured = table.groupby(["workload", "stage"], sort=False)[value].sum()
        published = outlines.heights.drop(columns="training_s").rename_axis(columns="stage").stack()
        both = pd.DataFrame({"published": published, "measured": measured.rename_axis(["workload", "stage"])})
        return both.dropna().reset_index()
