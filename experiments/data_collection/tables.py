"""This file makes the tables behind the figures of data collection: the lines of each, their order and names."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from experiments.data_collection.device_limits import inference_limits
from experiments.data_collection.measurements import Measurements
from experiments.data_collection.robots.lines import is_of_robots
from experiments.data_collection.speedups import ACCURATE, FUSED_STEPS
from experiments.data_collection.throughput import (
    CARTPOLE,
    COLLECT,
    COPY,
    SIMULATE,
    Series,
    Throughputs,
    throughput_table,
)

#: From the loop in Python to the fused kernel.
IMPLEMENTATIONS = ("Gymnasium", "C++ threads", "PyTorch", "PyTorch compiled", "CUDA graph", "XLA", "CUDA")
VARIANTS = ("", ACCURATE, "approximate", "matrix units")
WRITES_DATA = " + data"
#: By variant of the fused kernel, the limit of `inference_limits` that it runs into.
LIMITED_BY = {ACCURATE: "float32 arithmetic", "approximate": "float32 arithmetic", "matrix units": "tanh.approx.f32"}


def collection_table(measured: Throughputs) -> pd.DataFrame:
    """Return simulation and inference; of the fused kernel's variants, the one with most steps per call."""
    chosen = [series for name in IMPLEMENTATIONS for series in measured.of(COLLECT, name)]
    most = {
        series.variant: max(other.steps_per_call for other in chosen if other.variant == series.variant)
        for series in chosen
        if series.implementation == "CUDA"
    }
    shown = [
        series for series in chosen if series.implementation != "CUDA" or series.steps_per_call == most[series.variant]
    ]
    return named(measured, shown, lambda series: (series.implementation, name_of(series, chosen)))


def simulation_table(measured: Throughputs) -> pd.DataFrame:
    """Return simulation only, with one step per call and with all fused."""
    chosen = [
        series
        for name in IMPLEMENTATIONS
        for series in measured.of(SIMULATE, name)
        if series.steps_per_call in (1, FUSED_STEPS)
    ]
    return named(measured, chosen, lambda series: (series.implementation, name_of(series, chosen)))


def simulators_table(measured: Throughputs) -> pd.DataFrame:
    """Return the simulators on XLA, with as many steps per call in each; empty if only one was measured. Robots that a
    kernel simulates too have a figure of their own.
    """
    others = [series for series in measured.lines if series.simulator != CARTPOLE and not is_of_robots(series)]
    if not others:
        return pd.DataFrame()
    steps = max(series.steps_per_call for series in others)
    chosen = [Series(SIMULATE, "XLA", steps), *(series for series in others if series.steps_per_call == steps)]
    return named(measured, chosen, lambda series: (series.simulator, series.simulator), in_order=False)


def named(
    measured: Throughputs,
    chosen: Sequence[Series],
    names: Callable[[Series], tuple[str, str]],
    in_order: bool = True,
) -> pd.DataFrame:
    """Return the table of some series, with what shares a colour (`family`) and the text of the legend (`series`)."""
    ordered = sorted(chosen, key=place) if in_order else chosen
    tables = []
    for series in ordered:
        family, name = names(series)
        tables.append(throughput_table(measured, [series]).assign(family=family, series=name))
    found = [table for table in tables if len(table)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def place(series: Series) -> tuple[int, bool, int, int]:
    """Return the place of a series in a legend."""
    variant = series.variant.removesuffix(WRITES_DATA)
    writes = series.variant != variant
    return IMPLEMENTATIONS.index(series.implementation), writes, VARIANTS.index(variant), series.steps_per_call


def name_of(series: Series, among: Sequence[Series]) -> str:
    """Return the implementation, its variant, and the steps per call where there are some with different ones."""
    steps = {other.steps_per_call for other in among if other.implementation == series.implementation}
    parts = [series.implementation, series.variant]
    parts += [f"K = {series.steps_per_call}"] if steps != {1} else []
    return ", ".join(filter(None, parts))


def inference_limits_of(results: Measurements) -> Mapping[str, float]:
    """Return what simulation and inference cannot exceed on the machine's device, where its rates are known."""
    return inference_limits(results.device_name)


def copy_limit(measured: Throughputs) -> Mapping[str, float]:
    """Return what simulation cannot exceed that loads and stores its environments in each step, where a copy was
    measured.
    """
    copied = measured.line(Series(SIMULATE, COPY))
    if not copied:
        return {}
    values = copied[max(copied)]
    return {"environments are copied, K = 1": sum(values) / len(values)}


def distance_table(results: Measurements) -> pd.DataFrame:
    """Return how far the best of each implementation is from the limit; empty where no limit is known.

    Returns:
        quantity, series, environments (of the best), steps_per_s, limit_per_s, percent of it, and what limits.
    """
    limits = inference_limits_of(results)
    collected = best_of(collection_table(results.measured)) if limits else pd.DataFrame()
    rows = []
    for row in collected.to_dict("records"):
        name = LIMITED_BY.get(str(row["variant"]).removesuffix(WRITES_DATA), "float32 arithmetic")
        rows.append((row, name, limits[name]))
    copied = copy_limit(results.measured)
    simulated = best_of(simulation_table(results.measured)) if copied else pd.DataFrame()
    for row in simulated.to_dict("records"):
        if row["steps_per_call"] == 1:
            rows += [(row, name, limit) for name, limit in copied.items()]
    return pd.DataFrame(
        {
            "quantity": row["quantity"],
            "series": row["series"],
            "environments": row["environments"],
            "steps_per_s": row["steps_per_s"],
            "limit_per_s": limit,
            "percent": 100 * row["steps_per_s"] / limit,
            "limited by": name,
        }
        for row, name, limit in rows
    )


def best_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return, of each series, the row with the highest throughput."""
    return table.loc[table.groupby("series", sort=False)["steps_per_s"].idxmax()] if len(table) else table
