"""Record the kernels of CartPole and of robots with counters: how near each is to what limits the device.

    python -m experiments.data_collection.robots.limits OUTPUT

Writes OUTPUT/robot_limits.csv: a row for each simulator, steps per call, repetition and counter, with the mean percent
while kernels worked. Needs a GPU whose counters may be read, CuPy and MuJoCo.
"""

import subprocess
import sys
from pathlib import Path

import pandas as pd

from experiments import CHECKOUT
from experiments.data_collection.robots.lines import ANT, ROBOTS
from experiments.data_collection.throughput import CARTPOLE
from rlscope.analysis.analysis import analyze
from rlscope.plots.tables import write_csv
from rlscope.trace.reader import open_trace

FILE = "robot_limits.csv"
COLUMNS = ["simulator", "steps_per_call", "environments", "repetition", "metric", "percent"]
#: What is counted, and what it is called in the figure.
COUNTERS = {
    "sm_efficiency": "multiprocessors active (%)",
    "achieved_occupancy": "warps, of those that fit (%)",
    "dram_throughput": "bandwidth of memory (%)",
}
OPERATION = "simulation"
REPETITIONS = 5
#: The ant's steps take longest; so many fill the device all the same.
ENVIRONMENTS = {CARTPOLE: 2**20, **dict.fromkeys(ROBOTS, 2**20), ANT: 2**17}
#: Calls with each number of steps, so that kernels work for about a second.
CALLS = {CARTPOLE: {1: 20_000, 100: 2000}, **{robot: {1: 200, 100: 4} for robot in ROBOTS}, ANT: {1: 100, 100: 1}}


def percents(output: Path, simulator: str, steps: int) -> dict[str, float]:
    """Record one process, and return the mean of each counter while its kernels worked."""
    trace = output / "trace"
    command = [sys.executable, "-m", "rlscope", "record", "--force", "-o", str(trace), "--counters", ",".join(COUNTERS)]
    command += ["--", sys.executable, str(CHECKOUT / "experiments" / "workloads" / "collect.py")]
    command += ["--implementation", "CUDA", "--quantity", "simulate", "--simulator", simulator, "--device", "cuda"]
    command += ["--environments", str(ENVIRONMENTS[simulator]), "--steps-per-call", str(steps)]
    command += ["--calls", str(CALLS[simulator][steps]), "--output", str(output / "rows")]
    subprocess.run(command, check=True)
    table = analyze(open_trace(trace)).counters.table
    own = table[table["operation"] == OPERATION].set_index("metric")["while_working"]
    return {counter: float(own[counter]) for counter in COUNTERS}


def main() -> None:
    """Record each simulator in turn, again and again; what was found is kept if a later one fails."""
    output = Path(sys.argv[1]).resolve()
    output.mkdir(parents=True, exist_ok=True)
    rows = []
    for repetition in range(REPETITIONS):
        for simulator, calls in CALLS.items():
            for steps in calls:
                about = (simulator, steps, ENVIRONMENTS[simulator], repetition)
                rows += [(*about, *found) for found in percents(output, simulator, steps).items()]
                write_csv(pd.DataFrame(rows, columns=COLUMNS), output / FILE)


if __name__ == "__main__":
    main()
