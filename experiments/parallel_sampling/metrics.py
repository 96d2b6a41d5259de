"""This file holds the metrics of claims about parallel sampling, and the tables behind its figures and page."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from experiments.parallel_sampling.lock_step import PRESETS
from experiments.parallel_sampling.measurements import TIMED, Sampled
from experiments.parallel_sampling.model import BATCHED, LOCK_STEP, TIMESTEPS, hours_row
from experiments.verdicts.statistics import ITERATIONS, RUNS, Estimate, estimated, estimated_mean

TALK = PRESETS["talk"]
MEASURED = "Measured rates"
#: Pairs of workloads in runs.toml, of which the second has twice the environments.
TWICE = {"lock_step": ("subproc_half", "subproc"), "batched": ("batched_half", "batched")}

Runs = Mapping[str, Sequence[Sampled]]
Numbers = Callable[[Sampled], Sequence[float]]


def by_name(sampled: Sequence[Sampled]) -> Runs:
    """Return the repetitions of each workload, without runs that have lost a worker."""
    names = dict.fromkeys(run.name for run in sampled)
    found = {name: [run for run in sampled if run.name == name and run.is_whole] for name in names}
    return {name: runs for name, runs in found.items() if runs}


def of_iterations(runs: Sequence[Sampled], numbers: Numbers) -> list[float]:
    """Return a number of each iteration of all repetitions."""
    return [number for run in runs for number in numbers(run)]


def hours(run: Sampled) -> list[float]:
    """Return the hours of the talk's training by the rates of each iteration, with environments as fast as the talk's.

    Timed environments are slower than those by a factor, and so is the update; inference is what it is.
    """
    factor = run.step_s / TALK.step_s
    step_s = (np.array(run.vector_step_s) - run.inference_s) / factor + run.inference_s
    update_s = np.array(run.optimize_s) / factor / run.steps
    return list((step_s + update_s) * TIMESTEPS / run.environments / 3600)


def metrics_of(sampled: Sequence[Sampled], parts: pd.DataFrame) -> dict[str, Estimate]:
    """Return the metrics whose workloads have run.

    Args:
        sampled: the runs.
        parts: as from `parts_table`.
    """
    runs = by_name(sampled)
    metrics = {
        **of_lock_step(runs.get("subproc", [])),
        **of_batched(runs.get("batched", [])),
        **of_both(runs),
        **of_waiting(parts),
    }
    for way, (few, more) in TWICE.items():
        if {few, more} <= set(runs):
            metrics[f"measured_{way}_gain_twice"] = ratio(runs, more, few, lambda run: run.samples_per_s)
    if {"real_subproc", "real_batched"} <= set(runs):
        metrics["measured_real_speedup"] = ratio(runs, "real_batched", "real_subproc", lambda run: run.samples_per_s)
    for name in ("hybrid", "rllib", "rllib_cluster"):
        if name in runs:
            to_model = of_iterations(runs[name], lambda run: run.to_model)
            metrics[f"measured_{name}_to_model"] = estimated_mean(to_model, ITERATIONS)
    return metrics


def of_lock_step(runs: Sequence[Sampled]) -> dict[str, Estimate]:
    """Return what is known of vectorised sampling by itself."""
    if not runs:
        return {}
    return {
        "measured_lock_step_sampling_percent": estimated_mean(of_iterations(runs, sampling_percent), ITERATIONS),
        "measured_lock_step_hours": estimated_mean(of_iterations(runs, hours), ITERATIONS),
        "measured_lock_step_step_to_own": estimated_mean(of_iterations(runs, step_to_own), ITERATIONS),
    }


def of_batched(runs: Sequence[Sampled]) -> dict[str, Estimate]:
    """Return what is known of batched sampling by itself."""
    if not runs:
        return {}
    return {
        "measured_batched_hours": estimated_mean(of_iterations(runs, hours), ITERATIONS),
        "measured_batched_step_to_own": estimated_mean(of_iterations(runs, step_to_own), ITERATIONS),
    }


def of_both(runs: Runs) -> dict[str, Estimate]:
    """Return what the one gains over the other, and how far that is what the model says with the same ends of
    episodes.
    """
    if not {"subproc", "batched"} <= set(runs):
        return {}
    spent = {name: of_iterations(runs[name], hours) for name in ("subproc", "batched")}
    return {
        "measured_sampling_speedup": ratio(runs, "subproc", "batched", sampling_hours),
        "measured_end_to_end_speedup": estimated(spent, lambda mean: mean["subproc"] / mean["batched"], ITERATIONS),
        "measured_waste_hours": estimated(spent, lambda mean: mean["subproc"] - mean["batched"], ITERATIONS),
        "measured_inference_batched_to_lock_step": ratio(
            runs, "batched", "subproc", lambda run: [run.inference_s], RUNS
        ),
        "measured_penalty_to_model": ratio(runs, "subproc", "batched", lambda run: run.to_model),
    }


def of_waiting(parts: pd.DataFrame) -> dict[str, Estimate]:
    """Return what RL-Scope recorded of waiting in vectorised sampling."""
    shares = parts[parts["name"] == "subproc"].groupby(["repetition", "part"])["milliseconds"].sum().unstack()
    if shares.empty:
        return {}
    return {"measured_lock_step_wait_percent": estimated_mean(list(100 * shares["wait"] / shares.sum(axis=1)))}


def ratio(runs: Runs, over: str, under: str, numbers: Numbers, unit: str = ITERATIONS) -> Estimate:
    """Return the ratio of the means of two workloads."""
    pair = {name: of_iterations(runs[name], numbers) for name in (over, under)}
    return estimated(pair, lambda mean: mean[over] / mean[under], unit)


def sampling_percent(run: Sampled) -> list[float]:
    """Return the share that sampling has of each iteration, in percent."""
    sampling_s = np.array(run.sampling_s)
    return list(100 * sampling_s / (sampling_s + run.optimize_s))


def step_to_own(run: Sampled) -> list[float]:
    """Return each iteration's vector step without inference, over the step of one environment."""
    return list((np.array(run.vector_step_s) - run.inference_s) / run.step_s)


def sampling_hours(run: Sampled) -> list[float]:
    """Return the same as `hours`, without the update."""
    factor = run.step_s / TALK.step_s
    update_s = np.array(run.optimize_s) / factor / run.steps
    return list(np.array(hours(run)) - update_s * TIMESTEPS / run.environments / 3600)


def measured_hours(sampled: Sequence[Sampled]) -> pd.DataFrame:
    """Return hours of training at the measured rates, in the columns of
    `experiments.parallel_sampling.model.model_hours`.
    """
    runs = by_name(sampled)
    shown = {"subproc": LOCK_STEP, "batched": BATCHED}
    rows = [
        hours_row(sampler, MEASURED, estimated_mean(of_iterations(runs[name], hours), ITERATIONS))
        for name, sampler in shown.items()
        if name in runs
    ]
    return pd.DataFrame(rows)


def comparison_table(sampled: Sequence[Sampled]) -> pd.DataFrame:
    """Return samplers of timed environments beside the model with the same ends of episodes.

    Returns:
        sampler; environments; per_worker; iterations; resets, in all; sampling_s, of an iteration; model_s, for the
        same; measured_to_model with its interval; inference_ms and step_ms, of a vector step.
    """
    rows = []
    for runs in by_name([run for run in sampled if run.environment == TIMED]).values():
        found = estimated_mean(of_iterations(runs, lambda run: run.to_model), ITERATIONS)
        step_ms = 1000 * (np.mean(of_iterations(runs, lambda run: run.vector_step_s)) - runs[0].inference_s)
        rows.append(
            {
                "sampler": runs[0].title,
                "environments": runs[0].environments,
                "per_worker": runs[0].figures["environments_per_worker"],
                "iterations": found.repetitions,
                "resets": sum(run.resets for run in runs),
                "sampling_s": float(np.mean(of_iterations(runs, lambda run: run.sampling_s))),
                "model_s": float(np.mean(of_iterations(runs, lambda run: list(run.replayed.sampling_s)))),
                **found.columns("measured_to_model"),
                "inference_ms": 1000 * float(np.mean([run.inference_s for run in runs])),
                "step_ms": float(step_ms),
            }
        )
    return pd.DataFrame(rows)
