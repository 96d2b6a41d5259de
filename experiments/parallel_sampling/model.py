"""This file computes what the model of lock-step sampling says of the talk: metrics, hours of training, and grids."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

import numpy as np
import pandas as pd

from experiments.parallel_sampling.lock_step import (
    BATCHED_INFERENCE_S,
    PRESETS,
    Sampling,
    Simulated,
    grid_mean_s,
    simulate,
)
from experiments.verdicts.statistics import Estimate, estimated_mean, exact

#: Of the talk's training, and what an iteration of it simulates.
TIMESTEPS = 20_000_000
#: How many times the processors the cluster has, and an update with which it is as fast as published.
CLUSTER_FACTOR, SHORT_UPDATE_S = 16, 5.5
ITERATIONS = 10
LOCK_STEP, BATCHED = "Lock-step,\n24 CPUs", "Batched,\n24 CPUs"
SERIAL = f"Cluster, {CLUSTER_FACTOR}x CPUs,\nserial update"
OVERLAPPED = "Cluster,\nupdate overlaps"
SHORT = f"Cluster, overlaps,\nupdate of {SHORT_UPDATE_S:g} s"
#: By the end of their names: environments that step in lock-step, over the talk's 24.
MORE = {"48": 2, "96": 4}
#: Gaussian steps: by the end of a metric's name, standard deviation over mean; and steps of an iteration.
VARIATIONS, VARIATION_STEPS = {"5": 0.05, "25": 0.25}, 128
#: The talk's worked examples in milliseconds, a row for each step; with the mean that a slide has for each.
GRIDS = {
    "A reset in 1 of 2 steps": ([[3, 3, 3, 3], [3, 3, 3, 3], [100, 3, 100, 3], [100, 3, 100, 3]], 52),
    "In 1 of 3": ([[3, 3, 3], [100, 100, 3], [100, 100, 3], [3, 3, 3], [3, 3, 3], [3, 3, 3]], 35),
    "In 1 of 5, one environment": ([[3], [3], [3], [100], [3]], 23),
}
#: How the presets are called on figures.
SOURCES = {"talk": "Model, step of 24 ms", "talk, 150 s": "Model, sampling of 150 s"}
#: Published hours of the training: each way at its lowest and at its highest.
PUBLISHED_HOURS = {
    LOCK_STEP: (7.0, 10.0),
    BATCHED: (1.5, 2.5),
    SERIAL: (1 / 3, 1 / 3),
    OVERLAPPED: (1 / 3, 1 / 3),
    SHORT: (1 / 3, 1 / 3),
}


def scenarios(talk: Sampling) -> dict[str, Sampling]:
    """Return the ways to sample that the talk compares, and what it leaves open of its cluster.

    Args:
        talk: its vectorised sampling.
    """
    batched = replace(talk, environments_per_worker=1, inference_s=BATCHED_INFERENCE_S)
    # As many samples in an iteration, so that training stays the same; each worker takes fewer steps.
    cluster = replace(batched, environments=CLUSTER_FACTOR * talk.environments, steps=talk.steps // CLUSTER_FACTOR)
    overlapped = replace(cluster, overlap_learner=True)
    short = replace(overlapped, optimize_s=SHORT_UPDATE_S)
    return {LOCK_STEP: talk, BATCHED: batched, SERIAL: cluster, OVERLAPPED: overlapped, SHORT: short}


def simulated_scenarios(talk: Sampling) -> dict[str, Simulated]:
    """Return simulated iterations of each scenario."""
    generator = np.random.default_rng(0)
    return {name: simulate(sampling, generator, ITERATIONS) for name, sampling in scenarios(talk).items()}


def hours(simulated: Simulated) -> list[float]:
    """Return the hours of the whole training, by each iteration."""
    return list(simulated.iteration_s * TIMESTEPS / simulated.samples / 3600)


def preset_metrics(talk: Sampling) -> dict[str, Estimate]:
    """Return the metrics of claims that depend on how often episodes end."""
    found = simulated_scenarios(talk)
    sampling_s = {name: float(found[name].sampling_s.mean()) for name in (LOCK_STEP, BATCHED)}
    hours_of = {name: fmean(hours(each)) for name, each in found.items()}
    own = talk.step_s

    def faster(slow: str, fast: str) -> Estimate:
        return exact(hours_of[slow] / hours_of[fast])

    lock_step, batched = found[LOCK_STEP], found[BATCHED]
    return {
        "model_lock_step_sampling_percent": exact(float((100 * lock_step.sampling_s / lock_step.iteration_s).mean())),
        "model_lock_step_hours": exact(hours_of[LOCK_STEP]),
        "model_lock_step_step_to_own": exact(float(lock_step.step_s.mean()) / own),
        "model_batched_hours": exact(hours_of[BATCHED]),
        "model_batched_step_to_own": exact(float(batched.step_s.mean()) / own),
        "model_batched_sampling_s": exact(sampling_s[BATCHED]),
        "model_sampling_speedup": exact(sampling_s[LOCK_STEP] / sampling_s[BATCHED]),
        "model_end_to_end_speedup": faster(LOCK_STEP, BATCHED),
        "model_waste_hours": exact(hours_of[LOCK_STEP] - hours_of[BATCHED]),
        "model_cluster_speedup_serial": faster(BATCHED, SERIAL),
        "model_cluster_speedup_overlapped": faster(BATCHED, OVERLAPPED),
        "model_cluster_speedup_short_update": faster(BATCHED, SHORT),
        "model_together_speedup_short_update": faster(LOCK_STEP, SHORT),
        **scaling_metrics(talk),
    }


def scaling_metrics(talk: Sampling) -> dict[str, Estimate]:
    """Return how many times the samples per second more environments give, each with a processor of its own."""
    metrics = {}
    for way, sampling in (("lock_step", talk), ("batched", scenarios(talk)[BATCHED])):
        per_s = {}
        for name, factor in {"": 1, **MORE}.items():
            environments = factor * sampling.environments
            each = factor * sampling.environments_per_worker if way == "lock_step" else 1
            more = replace(sampling, environments=environments, environments_per_worker=each)
            found = simulate(more, np.random.default_rng(0), ITERATIONS)
            per_s[name] = float((found.samples / found.sampling_s).mean())
        for name in MORE:
            metrics[f"model_{way}_gain_{name}"] = exact(per_s[name] / per_s[""])
    return metrics


def common_metrics() -> dict[str, Estimate]:
    """Return the metrics of claims that depend on no preset: worked grids, and steps that vary without resets."""
    metrics = {}
    for number, (grid, published_ms) in enumerate(GRIDS.values(), start=1):
        metrics[f"model_grid_{number}_difference_ms"] = exact(abs(grid_ms(grid) - published_ms))
    for name, variation in VARIATIONS.items():
        talk = replace(
            PRESETS["talk"], reset_probability=0, step_cv=variation, steps=VARIATION_STEPS, inference_s=0, optimize_s=0
        )
        lock_step, batched = (
            float(simulate(sampling, np.random.default_rng(0), ITERATIONS).sampling_s.mean())
            for sampling in (talk, replace(talk, environments_per_worker=1))
        )
        metrics[f"model_gaussian_gain_{name}_percent"] = exact(100 * (lock_step / batched - 1))
    return metrics


def grid_ms(grid: list[list[int]]) -> float:
    """Return milliseconds of the mean step of a grid in milliseconds."""
    return 1000 * grid_mean_s([[cell / 1000 for cell in row] for row in grid])


def grids_table() -> pd.DataFrame:
    """Return the cells of the worked grids: `grid`, `step`, `environment`, `milliseconds`."""
    rows = [
        (title, step, environment, cell)
        for title, (grid, _) in GRIDS.items()
        for step, row in enumerate(grid)
        for environment, cell in enumerate(row)
    ]
    return pd.DataFrame(rows, columns=["grid", "step", "environment", "milliseconds"])


def model_hours() -> pd.DataFrame:
    """Return hours of training by the model: `sampler`, `source`, `hours` with the ends of their interval,
    `iterations`.
    """
    rows = []
    for preset, source in SOURCES.items():
        for name, found in simulated_scenarios(PRESETS[preset]).items():
            rows.append(hours_row(name, source, estimated_mean(hours(found))))
    return pd.DataFrame(rows)


def hours_row(sampler: str, source: str, estimate: Estimate) -> Mapping[str, object]:
    """Return a row of the table behind the figure of training times."""
    row = {"sampler": sampler, "source": source, **estimate.columns("hours")}
    return {**row, "iterations": estimate.repetitions}


def published_hours() -> pd.DataFrame:
    """Return what is published of the same: `sampler`, `hours_low`, `hours_high`."""
    rows = [(name, *ends) for name, ends in PUBLISHED_HOURS.items()]
    return pd.DataFrame(rows, columns=["sampler", "hours_low", "hours_high"])
