"""This file holds the metrics of claims about self-play in many processes, from the tables of its runs."""

from collections import defaultdict

import numpy as np
import pandas as pd

from experiments.scale_up.measurements import Tables
from experiments.verdicts.statistics import Estimate, estimated, estimated_mean
from rlscope.model import NO_PHASE

#: Phases of the workload, and the process that trains.
SELF_PLAY, SERVING, TRAINING = "self_play", "serving", "training"
#: Who evaluates positions: the names of the workloads in runs.toml.
WORKER, SERVER = "worker", "server"


def metrics_of(tables: Tables) -> dict[str, Estimate]:
    """Return the metrics of each way to evaluate positions, which is named in front, and their ratios; those
    measured.
    """
    values: dict[str, list[float]] = defaultdict(list)
    rates: dict[str, dict[str, list[float]]] = {"moves_per_second": {}, "mean_batch": {}}
    for inference, run in tables.of_each_run():
        for name, value in {**of_phases(run), **of_dependencies(run), **of_devices(run)}.items():
            values[f"{inference}_{name}"].append(value)
        for column, found in rates.items():
            found.setdefault(inference, []).append(float(run.runs[column].iloc[0]))
    metrics = {name: estimated_mean(found) for name, found in values.items()}
    for column, name in (("moves_per_second", "server_to_worker_moves"), ("mean_batch", "server_to_worker_batch")):
        if {WORKER, SERVER} <= set(rates[column]):
            metrics[name] = estimated(rates[column], lambda means: means[SERVER] / means[WORKER])
    return metrics


def of_phases(run: Tables) -> dict[str, float]:
    """Return how long self-play is, from its first begin to its last end, over the longest of the phases that
    follow.
    """
    named = run.phases[~run.phases["phase"].isin([NO_PHASE, SERVING])]
    spans = named.groupby("phase")["end_s"].max() - named.groupby("phase")["start_s"].min()
    others = spans.drop(SELF_PLAY, errors="ignore")
    return {"self_play_to_next_longest": spans[SELF_PLAY] / others.max()} if SELF_PLAY in spans and len(others) else {}


def of_dependencies(run: Tables) -> dict[str, float]:
    """Return which part of the workers the training had games of, and which of their waits was for the server."""
    workers, edges = processes_in(run, SELF_PLAY), run.dependencies
    received = edges[edges["process"].isin(processes_in(run, TRAINING)) & edges["on"].isin(workers)]
    found = {"percent_of_workers_trained_on": 100 * received["on"].nunique() / max(1, len(workers))}
    servers = processes_in(run, SERVING)
    waits = run.phases.loc[run.phases["phase"] == SELF_PLAY, "wait_s"].sum()
    if servers and waits > 0:
        on_server = edges[(edges["phase"] == SELF_PLAY) & edges["on"].isin(servers)]
        found["waits_on_server_percent"] = 100 * on_server["wait_s"].sum() / waits
    return found


def processes_in(run: Tables, phase: str) -> set[str]:
    """Return the names of the processes that have a phase."""
    return set(run.phases.loc[run.phases["phase"] == phase, "process"])


def of_devices(run: Tables) -> dict[str, float]:
    """Return what was reported of the device during self-play over what it did, and the largest share of it in a
    phase.
    """
    playing = run.phases[run.phases["phase"] == SELF_PLAY]
    timeline = during(run.device_timeline, playing)
    if timeline.empty:
        return {}
    named = run.phases[run.phases["phase"] != NO_PHASE]
    found = {"largest_gpu_percent": 100 * float((named["gpu_s"] / named["wall_s"]).max())}
    reported, busy = timeline["reported"].mean(), timeline["busy"].mean()
    most_of_one = (playing["gpu_s"] / playing["wall_s"]).max()
    if np.isfinite(reported) and busy > 0:
        found["reported_to_busy"] = float(reported / busy)
    if np.isfinite(reported) and most_of_one > 0:
        found["reported_to_one_worker"] = float(reported / most_of_one)
    return found


def during(timeline: pd.DataFrame, phases: pd.DataFrame) -> pd.DataFrame:
    """Return the parts of a timeline whose middle lies between the first begin and the last end of the phases."""
    middle = (timeline["start_s"] + timeline["end_s"]) / 2
    return timeline[middle.between(phases["start_s"].min(), phases["end_s"].max())]


def busy_table(tables: Tables) -> pd.DataFrame:
    """Return what each way to evaluate positions made of the device during self-play, in percent: means over
    repetitions.

    Returns:
        inference; reported; busy, the union over processes; sum_over_processes of their own shares, an upper bound of
        busy. Empty where no device was used.
    """
    rows = []
    for inference, run in tables.of_each_run():
        own = run.phases[run.phases["phase"].isin([SELF_PLAY, SERVING])]
        timeline = during(run.device_timeline, own)
        shares = {
            "reported": timeline["reported"].mean(),
            "busy": timeline["busy"].mean(),
            "sum_over_processes": own["gpu_s"].sum() / (own["end_s"].max() - own["start_s"].min()),
        }
        rows += [{"inference": inference, **{name: 100 * share for name, share in shares.items()}}] * bool(
            len(timeline)
        )
    table = pd.DataFrame(rows)
    return table.groupby("inference", sort=False, as_index=False).mean() if rows else table
