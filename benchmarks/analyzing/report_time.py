"""This file measures the time of `rlscope report`, and of the smaller verbs, on a trace of real training."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import CHECKOUT, OUTPUT
from benchmarks.result import print_results, results
from benchmarks.timing import command_ns, median

TIMESTEPS = 8192
REPEATS = 5


def main() -> None:
    """Record PPO, then run each verb on the trace."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    rlscope = str(Path(sys.executable).with_name("rlscope"))
    with tempfile.TemporaryDirectory(dir=OUTPUT) as directory:
        trace, report = f"{directory}/trace", f"{directory}/report"
        workload = [sys.executable, "-m", "benchmarks.recording.workloads", "ppo", str(TIMESTEPS)]
        subprocess.run([rlscope, "record", "-o", trace, "--", *workload], cwd=CHECKOUT, check=True)

        def report_command() -> list[str]:
            shutil.rmtree(report, ignore_errors=True)
            return [rlscope, "report", trace, "-o", report]

        commands = {
            "rlscope report": report_command,
            "rlscope analyze": lambda: [rlscope, "analyze", trace],
            "rlscope inspect": lambda: [rlscope, "inspect", trace],
        }
        note = f"PPO, {TIMESTEPS} timesteps"
        for name, times_ns in command_ns(commands, REPEATS).items():
            print_results(results(name, "s", median([time_ns / 1e9 for time_ns in times_ns]), note=note))


if __name__ == "__main__":
    main()
