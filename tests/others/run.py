"""Runs a suite once, plain or recorded, in a working directory of its own."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from outcomes import Outcomes, outcomes_of, printed_lines
from sources import unpack
from suites import Suite

#: Seconds after which a run is ended; its suite then differs, or both runs lack the same tests.
LIMIT = 1800
#: No window and one thread for each library; strings hash alike in both runs.
VARIABLES = {
    "SDL_VIDEODRIVER": "dummy",
    "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True)
class Run:
    """What a run came to, in how many seconds, how many of its processes were recorded, and where its output is."""

    outcomes: Outcomes
    seconds: float
    processes: int
    log: Path


def run(suite: Suite, archive: Path | None, recorded: bool, work: Path) -> Run:
    """Runs a suite once.

    Args:
        suite: what to run.
        archive: what its working directory begins with.
        recorded: whether `rlscope record` runs it, that of the suite's environment.
        work: an existing folder, below which the run has a new one that keeps its output.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{suite.name}-{'recorded' if recorded else 'plain'}-", dir=work))
    place, trace, report, log = (folder / name for name in ("work", "trace", "report.xml", "log.txt"))
    printed = folder / "printed.txt" if suite.program else log
    place.mkdir()
    if archive:
        unpack(archive, place)
    if suite.program:
        shutil.copy(suite.program, place)
        (place / "saved").mkdir()
    command = suite.command(report)
    if recorded:
        command = [str(suite.python), "-m", "rlscope", "record", "-o", str(trace), "--", *command]
    before = time.monotonic()
    status = status_of(command, place, printed, log)
    seconds = time.monotonic() - before
    outcomes = outcomes_of(suite, place, report, status) | (printed_lines(printed) if suite.program else {})
    found = Run(outcomes, seconds, len(list(trace.glob("*.rlscope"))), log)
    shutil.rmtree(place, ignore_errors=True)
    shutil.rmtree(trace, ignore_errors=True)
    return found


def status_of(command: list[str], place: Path, printed: Path, log: Path) -> int:
    """Runs a command to its end, or ends it with all that it has started; `log` is what it writes to stderr."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("RLSCOPE_", "PYTHON"))}
    with log.open("a") as errors, printed.open("a") as output:
        process = subprocess.Popen(
            command,
            cwd=place,
            env=clean | VARIABLES,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()
