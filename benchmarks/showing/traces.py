"""This file makes the traces whose pages are measured: of real training, and of as many events as wanted."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import CHECKOUT
from benchmarks.synthetic import write_trace
from rlscope.analysis.contents import read_contents
from rlscope.page.static_part import counted
from rlscope.trace.reader import open_trace

#: Of PPO, after as many that make the agent ready.
TIMESTEPS = 2048
#: Of PPO with 16 simulators: four iterations.
MANY_TIMESTEPS = 8192
PPO, HUGE = "PPO", "1e8 events"


def record(trace: Path, module: str, *arguments: object) -> None:
    """Record a module of the benchmarks."""
    rlscope = str(Path(sys.executable).with_name("rlscope"))
    workload = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    command = [rlscope, "record", "-o", str(trace), "--", *workload]
    subprocess.run(command, cwd=CHECKOUT, stdout=sys.stderr, check=True)


#: By name, what writes each trace into a new directory.
TRACES: Mapping[str, Callable[[Path], object]] = {
    PPO: lambda trace: record(trace, "recording.workloads", "ppo", TIMESTEPS),
    "PPO with 16 simulators": lambda trace: record(trace, "showing.many_processes", MANY_TIMESTEPS),
    "1e7 events": lambda trace: write_trace(trace, 10_000_000),
    "1e7 events, 40 processes": lambda trace: write_trace(trace, 10_000_000, processes=40),
    HUGE: lambda trace: write_trace(trace, 100_000_000),
}


def contents(trace: Path) -> str:
    """Say how much a trace holds."""
    found = read_contents(open_trace(trace))
    return f"{counted(found.events, 'event', 'events')}, {counted(len(found.processes), 'process', 'processes')}"
