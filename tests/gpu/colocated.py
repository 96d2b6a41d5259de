"""A rollout process and a trainer on one GPU: who had it and why it did nothing, beside the processes' own stopwatch.

    python -m tests.gpu.colocated OUTPUT

Leaves colocated.json in OUTPUT, in about three minutes: of each way in which weights travel, taking turns and at once.
"""

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

from tests.gpu.recorded_program import beside_analysis

WORKLOAD = Path(__file__).parents[2] / "experiments" / "workloads" / "colocated.py"
SIZE = ("--device", "cuda", "--steps", "20", "--prompts", "32", "--tokens", "64", "--width", "512", "--layers", "8")


def beside_stopwatch(watched: dict[str, Any], analysis: dict[str, Any]) -> dict[str, float]:
    """Of each part by how many percent the trace differs from the stopwatch."""
    found: dict[str, float] = {}
    for row in analysis["breakdown"]:
        found[row["operation"]] = found.get(row["operation"], 0.0) + row["seconds"]
    parts = {**watched["trainer"], **watched["rollout"]}
    return {name: 100 * (found.get(name, 0.0) / seconds - 1) for name, seconds in parts.items()}


def idle(analysis: dict[str, Any]) -> dict[str, float]:
    """Seconds by cause."""
    found: dict[str, float] = {}
    for row in analysis["device_idle"]:
        found[row["cause"]] = found.get(row["cause"], 0.0) + row["seconds"]
    return found


def checked(analysis: dict[str, Any]) -> None:
    """What holds on every trace: who had the device sums to the time in which it worked."""
    (gpu,) = analysis["gpu"]
    (whole,) = [row for row in analysis["device_shares"] if row["process"] == ""]
    if abs(whole["alone_s"] + whole["shared_s"] - gpu["busy_s"]) > 1e-6:
        raise SystemExit(f"alone and shared were expected to sum to {gpu['busy_s']} s, but {whole} was found")


def main() -> None:
    """Record the workload in each way, and keep what was found."""
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    results = {}
    for weights, overlap in product(("ipc", "pipe"), ((), ("--overlap",))):
        name = "_".join((weights, *("overlap" for _ in overlap)))
        program = (WORKLOAD, *SIZE, "--weights", weights, *overlap)
        analyze = ("--gpu-attribution", "coincident")
        watched, analysis = beside_analysis(output / "traces" / name, program, analyze=analyze)
        checked(analysis)
        causes = idle(analysis)
        results[name] = {
            "stopwatch": watched,
            "beside_stopwatch_percent": beside_stopwatch(watched, analysis),
            "gpu": analysis["gpu"],
            "shares": analysis["device_shares"],
            "switches": analysis["device_switches"],
            "idle_s": causes,
            "unexplained_percent": 100 * causes.get("unexplained", 0.0) / max(sum(causes.values()), 1e-9),
        }
    (output / "colocated.json").write_text(json.dumps(results, indent=2) + "\n")
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
