"""This file measures how long `rlscope try` takes: until a change is decided, and what keeps a run from harm."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.result import Value, print_results, results
from benchmarks.timing import median
from rlscope.trial.isolation.isolation import Isolation

WORKLOAD = Path(__file__).parents[1] / "recording" / "workloads.py"
#: It trains for longer than the measured part, which ends it.
TIMESTEPS = 200_000
CHANGE = "fused"
TRIALS = 5
EMPTY_RUNS = 15


def trial(folder: str) -> tuple[float, dict[str, Any]]:
    """Return the seconds that a trial of one change takes, and its document."""
    command = [sys.executable, str(WORKLOAD), "ppo_cartpole", str(TIMESTEPS)]
    rlscope = [str(Path(sys.executable).parent / "rlscope"), "try", "--json", "--changes", CHANGE, "--", *command]
    started_ns = time.perf_counter_ns()
    said = subprocess.run(rlscope, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    return (time.perf_counter_ns() - started_ns) / 1e9, json.loads(said)


def isolation_ms(folder: str) -> tuple[Value, str]:
    """Return the milliseconds that isolation adds to a command that does nothing, and what it is."""
    samples, kind = [], ""
    for _ in range(EMPTY_RUNS):
        started_ns = time.perf_counter_ns()
        subprocess.run(["true"], check=True)
        plain_ns = time.perf_counter_ns() - started_ns
        started_ns = time.perf_counter_ns()
        with Isolation(Path(folder)) as isolation:
            subprocess.run(isolation.command(["true"]), check=True, env=os.environ | isolation.environment)
            isolation.overwritten()
            kind = isolation.kind
        samples.append((time.perf_counter_ns() - started_ns - plain_ns) / 1e6)
    return median(samples), kind


def main() -> None:
    """Run a command that does nothing in isolation; try a change several times."""
    with tempfile.TemporaryDirectory() as folder:
        added, kind = isolation_ms(folder)
        print_results(results("try, isolation of a run", "ms", added, note=kind))
        trials = [trial(folder) for _ in range(TRIALS)]
    rows = [document["tried"][0] for _, document in trials]
    said = ", ".join(f"{row['verdict']} by {row['pairs']}" for row in rows)
    note = f"PPO on CartPole, {CHANGE}; {said} pairs of runs"
    print_results(results("try, one change", "s", median([whole_s for whole_s, _ in trials]), note=note))
    # The first run finds out what is measured.
    runs_s = [whole_s / (1 + 2 * row["pairs"]) for (whole_s, _), row in zip(trials, rows, strict=True)]
    note = f"with its imports; {trials[0][1]['measured']['wall_s']:.2f} s of it are measured"
    print_results(results("try, a run of it", "s", median(runs_s), note=note))


if __name__ == "__main__":
    main()
