"""This file keeps what one machine has measured of data collection, so that other machines can read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.data_collection.layers import CROSSING_COLUMNS, LAYER_COLUMNS
from experiments.data_collection.robots import limits as robot_limits
from experiments.data_collection.throughput import Throughputs, read_rows, throughputs_of, write_rows
from experiments.verdicts import other_machines
from experiments.verdicts.other_machines import Measured, exactly
from rlscope.plots.tables import write_csv

ROWS, LAYERS, CROSSINGS, LIMITS = FILES = ("rows.jsonl", "layers.csv", "crossings.csv", robot_limits.FILE)


@dataclass(frozen=True)
class Measurements(Measured):
    """The measurements of a machine, and where they come from.

    Attributes:
        rows: as the measuring command writes them.
        layers: as from `experiments.data_collection.layers.layers_of`.
        crossings: likewise.
        robot_limits: as `experiments.data_collection.robots.limits` writes them.
    """

    rows: Sequence[Mapping[str, Any]]
    layers: pd.DataFrame
    crossings: pd.DataFrame
    robot_limits: pd.DataFrame

    @cached_property
    def measured(self) -> Throughputs:
        """Return the rows as lines."""
        return throughputs_of(self.rows)

    def save(self, directory: Path) -> None:
        """Write the files that `load` reads."""
        super().save(directory)
        write_rows(self.rows, directory / ROWS)
        write_csv(self.layers, directory / LAYERS)
        write_csv(self.crossings, directory / CROSSINGS)
        write_csv(self.robot_limits, directory / LIMITS)


def load(directory: Path) -> Measurements:
    """Return what `save` has written.

    Raises:
        UsageError: It is damaged.
    """

    columns = (LAYER_COLUMNS, CROSSING_COLUMNS, robot_limits.COLUMNS)
    check = exactly((), {Path(name).stem: found for name, found in zip(FILES[1:], columns, strict=True)})

    def make(paths: Sequence[Path], origin: dict[str, Any]) -> Measurements:
        rows, *tables = paths
        layers, crossings, limits = found = [pd.read_csv(path) for path in tables]
        for path, table in zip(tables, found, strict=True):
            check(path.stem, list(table.columns))
        return Measurements(**origin, rows=read_rows(rows), layers=layers, crossings=crossings, robot_limits=limits)

    return other_machines.load(directory, FILES, make)
