"""This file makes lines of the rows of workloads/collect.py: throughput over the number of environments."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.verdicts.statistics import TIMINGS, estimated_mean
from rlscope.errors import UsageError

COLLECT, SIMULATE = "collect", "simulate"
CARTPOLE = "CartPole"
#: The copy of a device's memory onto itself: a simulator that moves the states and computes nothing.
COPY = "Copy"
#: A point is on a line's plateau if it reaches this share of the line's best.
ON_PLATEAU = 0.9

#: Environments to steps per second, one number for each repetition.
Line = Mapping[int, Sequence[float]]


@dataclass(frozen=True)
class Series:
    """This is what a line is of: everything in a row but the number of environments.

    Attributes:
        quantity: COLLECT, or SIMULATE, which has no policy.
        implementation: "XLA", say.
        steps_per_call: K.
        variant: of the implementation; empty if it has one only.
        simulator: CARTPOLE, or another one on XLA.
        state_factor: how much more memory a step moves.
        compute_factor: how much more it computes.
    """

    quantity: str
    implementation: str
    steps_per_call: int = 1
    variant: str = ""
    simulator: str = CARTPOLE
    state_factor: int = 1
    compute_factor: int = 1

    @property
    def is_plain(self) -> bool:
        """Return whether it is of the task as it is."""
        return self.simulator == CARTPOLE and self.state_factor == self.compute_factor == 1


@dataclass(frozen=True)
class Throughputs:
    """The measured cells of one machine.

    Attributes:
        lines: by series, environments in ascending order.
        left_out: why a cell was not measured, by series and environments.
    """

    lines: Mapping[Series, Line]
    left_out: Mapping[tuple[Series, int], str]

    def line(self, series: Series) -> Line:
        """Return the line of a series; it is empty where the series was not measured."""
        return self.lines.get(series, {})

    def of(self, quantity: str, implementation: str) -> list[Series]:
        """Return what was measured of an implementation on the task as it is."""
        return [
            series
            for series in self.lines
            if (series.quantity, series.implementation) == (quantity, implementation) and series.is_plain
        ]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file, one JSON object on each line.

    Raises:
        UsageError: It cannot be read, or a line is something else.
    """
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise UsageError(
            f"{path}: expected rows of workloads/collect.py, found: {error.strerror}; measure again"
        ) from error
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            throughputs_of([row])
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{path}, line {number}: expected a row of workloads/collect.py, found {line[:60]!r} "
                f"({type(error).__name__}: {error}); remove the file and measure again"
            ) from error
        rows.append(row)
    return rows


def write_rows(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows as `read_rows` reads them."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def throughputs_of(rows: Iterable[Mapping[str, Any]]) -> Throughputs:
    """Return rows as lines. Rows of one cell, from processes of their own, are further repetitions of it."""
    lines: dict[Series, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    left_out: dict[tuple[Series, int], str] = {}
    for row in rows:
        series = Series(**{field.name: row[field.name] for field in fields(Series)})
        if "left_out" in row:
            left_out[series, row["environments"]] = row["left_out"]
        else:
            lines[series][row["environments"]] += list(np.divide(row["steps"], row["seconds"]))
    ordered = {series: dict(sorted(line.items())) for series, line in lines.items()}
    unmeasured = {cell: why for cell, why in left_out.items() if cell[1] not in ordered.get(cell[0], {})}
    return Throughputs(ordered, unmeasured)


def plateau(line: Line) -> tuple[int, float]:
    """Return the fewest environments with nearly the line's best throughput, and that best, in steps per second."""
    means = {environments: float(np.mean(values)) for environments, values in line.items()}
    best = max(means.values())
    return min(environments for environments, mean in means.items() if mean >= ON_PLATEAU * best), best


def throughput_table(measured: Throughputs, chosen: Sequence[Series]) -> pd.DataFrame:
    """Return the table behind a figure of throughputs: a row for each measured cell of the series, in their order.

    Returns:
        The attributes of `Series`, environments, steps_per_s (the mean of the repetitions) with the ends of its 95 %
        interval, repetitions, and best_steps_per_s and plateau_environments of the whole line.
    """
    rows = []
    for series in chosen:
        line = measured.line(series)
        if not line:
            continue
        enough, best = plateau(line)
        for environments, values in line.items():
            found = estimated_mean(values, TIMINGS)
            row = {**asdict(series), "environments": environments, **found.columns("steps_per_s")}
            row |= {"repetitions": found.repetitions}
            rows.append({**row, "best_steps_per_s": best, "plateau_environments": enough})
    return pd.DataFrame(rows)


def left_out_table(measured: Throughputs) -> pd.DataFrame:
    """Return the cells that could not be measured, and why: one row for each series and reason."""
    cells: dict[tuple[Series, str], list[int]] = defaultdict(list)
    for (series, environments), why in measured.left_out.items():
        cells[series, why].append(environments)
    return pd.DataFrame(
        {**asdict(series), "environments": ", ".join(map(str, sorted(numbers))), "why": why}
        for (series, why), numbers in cells.items()
    )
