"""This file holds the metrics of claims about training language models, and the tables behind its figures."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from experiments.llm_rl.measurements import Tables
from experiments.verdicts.statistics import Estimate, estimated, estimated_mean
from rlscope.model import Resource
from rlscope.plots.folding import CORRECTED, NO, YES
from rlscope.plots.tables import breakdown_table

#: Workloads in runs.toml: the same training in turn and overlapped.
PAIRS = (("synchronous", "overlapped"), ("synchronous_2", "overlapped_2"), ("synchronous_3", "overlapped_3"))
IN_TURN, OVERLAPPED, TRL = "synchronous", "overlapped", "trl"
WAITING, AHEAD = "agent", "agent_ahead"
#: An operation with a smaller share of the stopwatch's time is too short to be compared.
SHORTEST_PERCENT = 5.0
#: In which a device works.
BUSY = (Resource.GPU.value, Resource.BOTH.value)

#: The mean of each column over the iterations of a run; an entry for each repetition.
Runs = Mapping[str, Sequence[pd.Series]]


def means_of(tables: Tables) -> Runs:
    """Return the repetitions of each workload."""
    means = tables.iterations.groupby(["workload", "repetition"], sort=False).mean()
    found: dict[str, list[pd.Series]] = {}
    for workload, repetition in means.index:
        found.setdefault(workload, []).append(means.loc[(workload, repetition)])
    return found


def metrics_of(tables: Tables) -> dict[str, Estimate]:
    """Return the metrics of claims.toml whose workloads have run."""
    runs = means_of(tables)
    return {
        **of_turns(runs.get(IN_TURN, [])),
        **of_recorded(tables),
        **of_pairs(runs),
        **of_agents(runs),
    }


def mean_of(runs: Sequence[pd.Series], number: Callable[[pd.Series], float]) -> Estimate:
    """Return the mean of a number of each run."""
    return estimated_mean([float(number(run)) for run in runs])


def ratio_of(over: Sequence[pd.Series], under: Sequence[pd.Series]) -> Estimate:
    """Return the ratio of the seconds of an iteration."""
    seconds = {name: [float(run["seconds"]) for run in runs] for name, runs in (("over", over), ("under", under))}
    return estimated(seconds, lambda means: means["over"] / means["under"])


def of_turns(runs: Sequence[pd.Series]) -> dict[str, Estimate]:
    """Return what is known where all happens in turn."""
    if not runs:
        return {}

    def body_s(run: pd.Series) -> float:
        return float(run["rollout_s"] - run["tail_s"])

    return {
        "synchronous_generation_percent": mean_of(runs, lambda run: 100 * run["generate_s"] / run["seconds"]),
        "synchronous_sync_percent": mean_of(runs, lambda run: 100 * run["sync_s"] / run["seconds"]),
        "synchronous_tail_percent": mean_of(runs, lambda run: 100 * run["tail_s"] / run["rollout_s"]),
        "tail_to_body_throughput": mean_of(
            runs, lambda run: (run["tail_tokens"] / run["tail_s"]) / (run["body_tokens"] / body_s(run))
        ),
    }


def of_pairs(runs: Runs) -> dict[str, Estimate]:
    """Return what overlap brings, and what it waits for."""
    found: dict[str, Estimate] = {}
    if OVERLAPPED in runs:
        found["overlapped_pause_percent"] = mean_of(runs[OVERLAPPED], lambda run: 100 * run["pause_s"] / run["sync_s"])
    complete = [(slow, fast) for slow, fast in PAIRS if slow in runs and fast in runs]
    if len(complete) < len(PAIRS):
        return found
    ratios = {pair: mean_of(runs[pair[0]], ratio).value for pair in complete}
    balanced = min(complete, key=lambda pair: max(ratios[pair], 1 / ratios[pair]))
    heavy = max(complete, key=lambda pair: ratios[pair])
    found["balanced_overlap_gain"] = ratio_of(runs[balanced[0]], runs[balanced[1]])
    found["generation_heavy_overlap_gain"] = ratio_of(runs[heavy[0]], runs[heavy[1]])
    found["overlapped_wait_percent"] = mean_of(runs[heavy[1]], lambda run: 100 * run["wait_s"] / run["seconds"])
    found["overlap_gain_to_bound"] = gain_to_bound(runs, complete)
    return found


def ratio(run: pd.Series) -> float:
    """Return the seconds of generation over those of training."""
    return float(run["generate_s"] / run["training_s"])


def bound(run: pd.Series) -> float:
    """Return the most that overlap can gain over a run in turn.

    Generation of 3 s, training of 2 s and 1 s of sync are 6 s in turn, and at best 3 + 1 s: the bound is 1.5.
    """
    longer = max(run["generate_s"], run["training_s"])
    return float((run["generate_s"] + run["training_s"] + run["sync_s"]) / (longer + run["sync_s"]))


def gain_to_bound(runs: Runs, pairs: Sequence[tuple[str, str]]) -> Estimate:
    """Return the mean over pairs of what overlap has gained over its bound."""
    groups: dict[tuple[str, str], list[float]] = {}
    for slow, fast in pairs:
        groups[slow, "seconds"] = [float(run["seconds"]) for run in runs[slow]]
        groups[slow, "bound"] = [bound(run) for run in runs[slow]]
        groups[fast, "seconds"] = [float(run["seconds"]) for run in runs[fast]]

    def metric(means: Mapping[tuple[str, str], float]) -> float:
        found = [means[slow, "seconds"] / means[fast, "seconds"] / means[slow, "bound"] for slow, fast in pairs]
        return sum(found) / len(found)

    return estimated(groups, metric)


def of_agents(runs: Runs) -> dict[str, Estimate]:
    """Return what going on with samples under way brings, and what it throws away."""
    found: dict[str, Estimate] = {}
    if AHEAD in runs:
        ahead = runs[AHEAD]
        found["stale_token_percent"] = mean_of(ahead, lambda run: 100 * run["stale_tokens"] / run["tokens"])
        if all(run["stale_samples"] > 0 for run in ahead):
            found["stale_to_kept_tokens"] = mean_of(ahead, stale_to_kept)
        if WAITING in runs:
            found["ahead_gain"] = ratio_of(runs[WAITING], ahead)
    return found


def stale_to_kept(run: pd.Series) -> float:
    """Return the mean tokens of discarded samples over those of the others."""
    kept = (run["tokens"] - run["stale_tokens"]) / (run["samples"] - run["stale_samples"])
    return float(run["stale_tokens"] / run["stale_samples"] / kept)


def of_recorded(tables: Tables) -> dict[str, Estimate]:
    """Return what RL-Scope recorded, beside the stopwatch where all happens in turn."""
    found: dict[str, list[float]] = {}
    for (workload, repetition), rows in tables.stages.groupby(["workload", "repetition"], sort=False):
        if workload == IN_TURN:
            own = tables.operations
            watched = own[(own["workload"] == workload) & (own["repetition"] == repetition)]
            found.setdefault("largest_difference_percent", []).append(largest_difference_percent(rows, watched))
            busy_s = rows.loc[rows["resource"].isin(BUSY), "seconds"].sum()
            if busy_s > 0:
                idle = 1 - busy_s / rows["seconds"].sum()
                found.setdefault("synchronous_idle_device_percent", []).append(100 * idle)
        generated = rows["operation"].isin(["generate", "prefill", "decode"])
        if workload == TRL and generated.any():
            share = rows.loc[generated, "seconds"].sum() / rows["seconds"].sum()
            found.setdefault("trl_generation_percent", []).append(100 * share)
    return {name: estimated_mean(values) for name, values in found.items()}


def largest_difference_percent(rows: pd.DataFrame, watched: pd.DataFrame) -> float:
    """Return by how much RL-Scope and the stopwatch differ at most, of operations that are long enough.

    Args:
        rows: of `Tables.stages`, of one run.
        watched: of `Tables.operations`, of the same.
    """
    recorded = rows.groupby("operation")["uncorrected_seconds"].sum()
    recorded["generate"] = sum(recorded.get(name, 0.0) for name in ("generate", "prefill", "decode"))
    long_enough = watched[watched["seconds"] >= SHORTEST_PERCENT / 100 * watched["seconds"].sum()]
    return max(
        100 * abs(float(recorded.get(row.operation, 0.0)) / float(row.seconds) - 1)
        for row in long_enough.itertuples(index=False)
    )


def breakdown_of(tables: Tables, labels: Mapping[str, str]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the table behind the breakdown, in seconds of an iteration, and the text under each group.

    A group is a process of a workload: its stages, and the training loop as far as it is in none.

    Args:
        tables: of a machine.
        labels: of workloads.
    """
    parts, names = [], {}
    shown = [IN_TURN, OVERLAPPED, WAITING, AHEAD, TRL]
    rows = tables.stages[tables.stages["workload"].isin(shown)]
    order = {name: place for place, name in enumerate(shown)}
    for (workload, process), found in sorted(
        rows.groupby(["workload", "process"]), key=lambda group: (order[group[0][0]], group[0][1])
    ):
        repetitions = rows.loc[rows["workload"] == workload, "repetition"].nunique()
        group = workload if process == "main" else f"{workload}, {process}"
        mean = found.assign(**{name: found[name] / repetitions for name in ("seconds", "uncorrected_seconds")})
        is_corrected = (mean["seconds"] != mean["uncorrected_seconds"]).any()
        mean = mean.assign(**{CORRECTED: YES if is_corrected else NO})
        names[group] = labels[workload] if process == "main" else f"{labels[workload]},\n{process}"
        parts.append(breakdown_table(group, mean, float(mean["seconds"].sum())))
    return (pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()), names


def overlap_table(tables: Tables) -> pd.DataFrame:
    """Return what overlap has gained: `workload`, `ratio` of generation to training, `bound`, `gain` with the ends of
    its interval, and `repetitions`.
    """
    runs = means_of(tables)
    rows: list[dict[str, object]] = []
    for slow, fast in PAIRS:
        if slow in runs and fast in runs:
            gain = ratio_of(runs[slow], runs[fast])
            about: dict[str, object] = {"workload": fast, "ratio": mean_of(runs[slow], ratio).value}
            most = mean_of(runs[slow], bound).value
            rows.append({**about, "bound": most, **gain.columns("gain"), "repetitions": gain.repetitions})
    return pd.DataFrame(rows)
