"""This file measures the time of `rlscope report`, and of the smaller verbs, on a trace of real training."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import CHECKOUT, OUTPUT
from benchmarks.result import Target, print_results, results
from benchmarks.timing import command_ns, median

TIMESTEPS = 8192
REPEATS = 5
#: In seconds, by verb.
TARGETS = {"report": Target(1.5), "analyze": Target(0.15), "inspect": None}


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
            "report": report_command,
            "analyze": lambda: [rlscope, "analyze", trace],
            "inspect": lambda: [rlscope, "inspect", trace],
        }
        note = f"PPO, {TIMESTEPS} timesteps"
        for verb, times_ns in command_ns(commands, REPEATS).items():
            found = median([time_ns / 1e9 for time_ns in times_ns])
            print_results(results(f"rlscope {verb}", "s", found, target=TARGETS[verb], note=note))


if __name__ == "__main__":
    main()
