"""Reads what the published figures show, so that a study's figure has it in the same axes and its page beside it."""

from pathlib import Path

import pandas as pd

from rlscope.plots.bars import Outlines

#: Of RL-Scope's paper, MLSys 2021.
PAPER = "RL-Scope's paper"
MACHINE = "RTX 2080 Ti"
FILE = "published.csv"


class Published:
    """The figures of the paper that a study draws again.

    Attributes:
        table: of published.csv: stem, of the study's figure; figure, the paper's number; workload; training_s; and for
            each stage the height of its bar, in percent, in seconds or in transitions per timestep. What cannot be read
            off the published figure is empty.
    """

    def __init__(self, study: Path) -> None:
        """Read the file of a study's folder."""
        self.table = pd.read_csv(study / FILE, dtype={"figure": str}, comment="#")

    def number(self, stem: str) -> str:
        """Return which figure of the paper this is, as "Figure 5"; empty for one that was not published."""
        numbers = self.table.loc[self.table["stem"] == stem, "figure"]
        return f"Figure {numbers.iloc[0]}" if len(numbers) else ""

    def heading(self, stem: str, title: str) -> str:
        """Return the heading over a figure: "Figure 5: Walker2DBulletEnv-v0"."""
        return ": ".join(filter(None, [self.number(stem), title]))

    def caption(self, stem: str, caption: str) -> str:
        """Return the caption of a figure, which names the published one first."""
        number = self.number(stem)
        return f"{number} of {PAPER}, recorded here. {caption} Dashed: as published." if number else caption

    def outlines(self, stem: str) -> Outlines | None:
        """Return what the published figure shows; None where there is none."""
        rows = self.table[self.table["stem"] == stem].set_index("workload")
        if rows.empty:
            return None
        return Outlines(rows.drop(columns=["stem", "figure"]), f"as published\n({MACHINE})")

    def beside(self, stem: str, table: pd.DataFrame, value: str) -> pd.DataFrame:
        """Return published heights of bars beside the measured ones.

        Args:
            stem: of the study's figure.
            table: what the figure draws, as from `breakdown_table` or `transitions_table`.
            value: the column that it draws.

        Returns:
            workload, stage, published, measured; no rows for a figure that was not published.
        """
        outlines = self.outlines(stem)
        if outlines is None:
            return pd.DataFrame(columns=["workload", "stage", "published", "measured"])
        measured = table.groupby(["workload", "stage"], sort=False)[value].sum()
        published = outlines.heights.drop(columns="training_s").rename_axis(columns="stage").stack()
        both = pd.DataFrame({"published": published, "measured": measured.rename_axis(["workload", "stage"])})
        return both.dropna().reset_index()
