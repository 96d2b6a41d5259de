"""This file measures the bytes on disk per event of programs with workers, in the case studies' environment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks import CHECKOUT, OUTPUT
from benchmarks.recording.trace_size import TARGET, rlscope_size
from benchmarks.result import print_results, results

WORKLOADS = CHECKOUT / "experiments" / "workloads"
PYTHON = CHECKOUT / ".venvs" / "pytorch" / "bin" / "python"
PROGRAMS = {
    "self-play of Go": (WORKLOADS / "self_play.py", "--workers", "2", "--games-per-worker", "8"),
    "RLlib's PPO": (WORKLOADS / "rllib_ppo.py", "--iterations", "10"),
}
#: Of Ray: no token to find, nothing to send.
QUIET = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}


def record(trace: Path, program: tuple[str | Path, ...]) -> None:
    """Record a program and all of its processes.

    Raises:
        CalledProcessError: it failed; what it said is on stderr.
    """
    shutil.rmtree(trace, ignore_errors=True)
    command = [PYTHON, "-m", "rlscope", "record", "-o", trace, "--", PYTHON, *program]
    subprocess.run(command, check=True, cwd=OUTPUT, env=os.environ | QUIET, stdout=sys.stderr)


def main() -> None:
    """Record the program that the command line names."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    trace = OUTPUT / "worker_trace"
    record(trace, PROGRAMS[sys.argv[1]])
    size, events = rlscope_size(trace)
    print_results(results(f"trace of {sys.argv[1]}", "B/event", size, None, TARGET, f"{events:,} events"))


if __name__ == "__main__":
    main()
