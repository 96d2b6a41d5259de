"""Records programs that start hundreds of processes, and reads what each of these left."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recording import RLSCOPE, environment

from rlscope import _analysis
from rlscope.trace.format import EndReason
from rlscope.trace.reader import open_trace

PROGRAMS = Path(__file__).parent / "scale" / "programs"
LIMIT_S = 3000


def record_at_scale(trace: Path, program: str, *arguments: object) -> str:
    """Runs a program of tests/scale recorded, and returns what it printed."""
    command = [sys.executable, str(PROGRAMS / program), *map(str, arguments)]
    finished = subprocess.run(
        [*RLSCOPE, "record", "-o", str(trace), "--", *command],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=LIMIT_S,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def complete_processes(directory: Path) -> dict[int, Mapping[str, Any]]:
    """Each process of a trace, decoded, by its id. Fails where one is not complete or lost a record."""
    trace = open_trace(directory)
    assert trace.why == ()
    for process in trace.processes:
        assert process.header.end_reason in (EndReason.STOPPED, EndReason.EXIT), process.path
    processes = lossless_processes(directory)
    assert len(processes) == len(trace.processes)
    return processes


def lossless_processes(directory: Path) -> dict[int, Mapping[str, Any]]:
    """The same of a trace whose processes may have been killed; of a process id, what ran last."""
    processes = open_trace(directory).processes
    for process in processes:
        assert (process.header.dropped_records, process.header.misnested_operations) == (0, 0), process.path
    return {process.header.pid: vars(_analysis.sweep(str(process.path))) for process in processes}
