"""What `record --counters` says of kernels that one knows, beside ncu; and of two trainings, per stage.

    python -m tests.gpu.counters OUTPUT

Leaves counters.json in OUTPUT, in two minutes. Needs ncu and Stable-Baselines3.
"""

import csv
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import pandas as pd

from rlscope.analysis.analysis import Analysis, analyze
from rlscope.trace.counter_metrics import FRIENDLY
from rlscope.trace.reader import open_trace

ROOT = Path(__file__).resolve().parents[2]
KNOWN = Path(__file__).parent / "programs" / "known_kernels.py"
TD3_LIKE = Path(__file__).parent / "programs" / "td3_like.py"
TRAIN = ROOT / "experiments" / "workloads" / "stable_baselines3_train.py"
#: As many as the device counts at once.
AT_ONCE = ("sm_efficiency,achieved_occupancy,dram_throughput,dram_bytes", "tensor_active,instructions")
KERNELS = ("one_warp", "quarter_of_processors", "half_full", "full", "copy_memory", "matrix_product")
#: Kernels whose names are the libraries' own.
LIBRARY_KERNELS = ("gemm", "nvjet", "cutlass")
OF_ONE_PROCESSOR = {"OMP_NUM_THREADS": "1"}
#: ncu rounds to two digits after the point, so smaller values say nothing.
LEAST = 1.0
#: Of memory, for others read none, or what kernels before have left in the cache, and under ncu others run between.
READS_MEMORY, OF_MEMORY = "copy_memory", ("dram_throughput", "dram_bytes")


def recorded(trace: Path, counters: str, *command: str) -> Analysis:
    """A Python program, recorded with counters."""
    arguments = [sys.executable, "-m", "rlscope", "record", "--force", "-o", str(trace), "--counters", counters, "--"]
    subprocess.run([*arguments, sys.executable, *command], check=True, env=os.environ | OF_ONE_PROCESSOR)
    return analyze(open_trace(trace))


def by_ncu() -> dict[tuple[str, str], float]:
    """The mean of each counter over launches of each known kernel."""
    finished = subprocess.run(
        ["ncu", "--csv", "--print-units", "base", "--clock-control", "none", "--cache-control", "none",
         "--metrics", ",".join(FRIENDLY.values()),
         "--kernel-name", f"regex:{'|'.join((*KERNELS, *LIBRARY_KERNELS))}",
         sys.executable, str(KNOWN), "--launches", "4"],
        capture_output=True, text=True, check=True, timeout=200,
    )  # fmt: skip
    lines = [line for line in finished.stdout.splitlines() if line.startswith('"')]
    names = {metric: name for name, metric in FRIENDLY.items()}
    values = defaultdict(list)
    for row in csv.DictReader(lines):
        kernel = row["Kernel Name"].partition("(")[0]
        kernel = kernel if kernel in KERNELS else KERNELS[-1]
        values[kernel, names[row["Metric Name"]]].append(float(row["Metric Value"].replace(",", "")))
    return {key: mean(each) for key, each in values.items()}


def compared(directory: Path) -> pd.DataFrame:
    """One row per known kernel and counter: `rlscope`, `ncu`, and `difference`, in percent of ncu's."""
    expected = by_ncu()
    rows = []
    for number, counters in enumerate(AT_ONCE):
        analysis = recorded(directory / f"known-{number}", counters, str(KNOWN), "--seconds", "0.6")
        launches = analysis.gpu_operations.table.set_index("operation")["kernels"]
        table = analysis.counters.table[analysis.counters.table["operation"].isin(KERNELS)]
        busy_s = analysis.gpu_operations.table.set_index("operation")["busy_s"]
        for row in table.to_dict("records"):
            kernel, metric = row["operation"], row["metric"]
            found = row["while_working"]
            if pd.isna(found):  # an amount, of the time that was sampled
                found = row["total"] / row["busy_s"] * busy_s[kernel] / launches[kernel]
            wanted = expected[kernel, metric]
            if wanted >= LEAST and (kernel == READS_MEMORY or metric not in OF_MEMORY):
                rows.append((kernel, metric, found, wanted, 100 * (found / wanted - 1)))
    return pd.DataFrame(rows, columns=["kernel", "counter", "rlscope", "ncu", "difference"])


def trainings(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """The table `counters` of a TD3-like loop and of PPO of Stable-Baselines3 on a walker."""
    commands = {
        "td3_like": [str(TD3_LIKE), "--iterations", "1000"],
        "ppo": [str(TRAIN), "--algo", "ppo", "--env", "Walker2d-v5", "--device", "cuda", "--rollout-steps", "512",
                "--stop-after", "4000"],
    }  # fmt: skip
    return {
        name: recorded(directory / name, AT_ONCE[0], *command).counters.records() for name, command in commands.items()
    }


def main() -> None:
    """Writes counters.json and prints the comparison."""
    output = Path(sys.argv[1])
    table = compared(output / "traces")
    print(table.to_string())
    found = {"known_kernels": table.to_dict("records"), **trainings(output / "traces")}
    (output / "counters.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
