"""This file says of one side how long it takes, how far its runs scatter, and which change so many would show."""

import math
from statistics import fmean, stdev

from rlscope.analysis.rows import Record
from rlscope.compare.estimate import CONFIDENCE_PERCENT, FEWEST, ITERATIONS, RUNS, errors_at
from rlscope.compare.parts import Kind, compared_parts
from rlscope.compare.sides import Side
from rlscope.compare.verdict import part_name
from rlscope.text.numbers import duration, percent, unit_of


def summary(side: Side) -> str:
    """Say how long a side takes, in a few sentences."""
    values = [float(lengths.mean()) for lengths in side.lengths()]
    count, mean = len(values), fmean(values)
    runs = "1 run" if count == 1 else f"{count} runs"
    times = f"{runs}: {duration(mean)} per {side.unit.value}"
    if count < FEWEST:
        return f"{times}. {FEWEST} runs or more would show how runs differ."
    scatter = stdev(values) / mean
    shown = errors_at(CONFIDENCE_PERCENT / 100, 2 * (count - 1)) * scatter * math.sqrt(2 / count)
    return (
        f"{times}, {duration(min(values))} to {duration(max(values))}. Runs scatter by {percent(scatter)}, so "
        f"as many of another side would show a change of about {percent(shown)}."
    )


def stage_records(side: Side) -> list[Record]:
    """Return how long each stage takes, as rows of a table; with three runs or more also how far runs scatter."""
    repeated = RUNS if len(side.runs) >= FEWEST else ITERATIONS
    parts = [part for part in compared_parts(side.runs) if part.kind is Kind.STAGE]
    if not parts or side.count(repeated) < FEWEST:
        return []
    whole, groups = side.mean_s(repeated), side.parts(parts, repeated)
    unit = unit_of(whole)
    return [
        {
            "stage": part_name(part),
            unit.name: group.mean * unit.per_second,
            "percent": 100 * group.mean / whole,
            "scatter_percent": 100 * group.error * math.sqrt(group.degrees + 1) / group.mean if group.mean else 0.0,
        }
        for part, group in groups.items()
    ]
