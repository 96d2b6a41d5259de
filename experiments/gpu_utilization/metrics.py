"""This file holds the metrics of claims about reported utilisation, from the points at which kernels were launched."""

from collections import defaultdict

import numpy as np
import pandas as pd

from experiments.gpu_utilization.figures import LINES
from experiments.verdicts.statistics import Estimate, estimated_mean

#: The device is reported as fully used from the first on, is idle for most of the time up to the second, and is used
#: enough for what is reported, whole percents, to be compared from the third on; of 1.
FULLY, IDLE, USED = 0.95, 0.2, 0.05


def metrics_of(points: pd.DataFrame) -> dict[str, Estimate]:
    """Return the means over repetitions; those that were measured in all of them."""
    values: dict[str, list[float]] = defaultdict(list)
    for _, run in points.groupby("repetition"):
        for name, value in of_run(run).items():
            values[name].append(value)
    return {name: estimated_mean(found) for name, found in values.items() if not np.isnan(found).any()}


def of_run(points: pd.DataFrame) -> dict[str, float]:
    """Return what one repetition says; NaN where it has no such points."""
    tiny = points[points["kernel_us"].notna()]
    idle = tiny[tiny["busy"] < IDLE]
    fully = tiny[tiny["reported"] >= FULLY]
    used = tiny[tiny["reported"] >= USED]
    wide = points[points["kernel_us"].isna()]
    return {
        "idle_largest_reported_percent": 100 * idle["reported"].max(),
        "largest_reported_to_busy": (used["reported"] / used["busy"]).max(),
        "fully_largest_sm_efficiency": fully["sm_efficiency"].max(),
        "tiny_largest_occupancy": tiny["achieved_occupancy"].max(),
        "wide_sm_efficiency": wide["sm_efficiency"].max(),
        "wide_to_tiny_reported": wide["reported"].max() / tiny["reported"].max(),
    }


def percent_table(points: pd.DataFrame) -> pd.DataFrame:
    """Return what the figure shows: the means over repetitions, all in percent."""
    columns = {"reported": "reported_percent", "busy": "busy_percent"}
    table = points.assign(**{column: 100 * points[column] for column in columns}).rename(columns=columns)
    keys = ["operation", "kernel_us", "gap_us"]
    means = table.groupby(keys, dropna=False, sort=False, as_index=False).mean()
    return means[[*keys, "mean_kernel_us", *LINES]]
