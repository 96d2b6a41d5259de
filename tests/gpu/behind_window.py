"""What CUPTI costs behind a window of a running job, and once it is left a minute later, as JSON.

    python -m tests.gpu.behind_window OUTPUT      # in the checkout; the package is the installed one

A job of launches alone, which shows what is added to one best, waits for windows and says how long its iterations take.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch

import rlscope
from benchmarks.result import print_results, results
from rlscope import _native
from rlscope.monitor.windows.job import Job
from rlscope.monitor.windows.request import Request
from rlscope.record.run.followed_windows import CUPTI_STAYS_NS
from tests.gpu.measure import block_ms, percent

JOBS = 4
LAUNCHES = 2000  # in an iteration, of about 15 ms
WARM_UP_S, BEFORE_S, BEHIND_S = 4, 10, CUPTI_STAYS_NS / 1e9 + 15
WINDOW_ITERATIONS = 20


class Row(NamedTuple):
    """An iteration of the job: when it ended, how long it was, and the state of the recorder of CUDA."""

    end_s: float
    milliseconds: float
    state: str


def run_job(end: Path) -> None:
    """Be the job, until the file is there."""
    numbers = torch.zeros(64, device="cuda")

    def iteration() -> None:
        for _ in range(LAUNCHES):
            numbers.add_(1.0)

    while not end.exists():
        length_ms = block_ms(iteration, 1)
        rlscope.report_progress(timesteps=1)
        print(json.dumps(Row(time.monotonic(), length_ms, _native.cuda_status()["state"])), flush=True)


def changes_of_job(directory: Path) -> tuple[float, float]:
    """Return how much longer an iteration is behind the window, and once CUPTI is left, as logarithms of ratios."""
    run, end = directory / "run", directory / "end"
    job = [sys.executable, "-m", "tests.gpu.behind_window", str(directory), "job"]
    command = [sys.executable, "-m", "rlscope", "record", "--idle", "-o", str(run), "--", *job]
    with (directory / "rows").open("w") as output:
        process = subprocess.Popen(command, stdout=output)
    while not (directory / "rows").stat().st_size:
        time.sleep(0.1)
    time.sleep(WARM_UP_S + BEFORE_S)
    begin_s = time.monotonic()
    asked = Job(run)
    window = asked.begin(Request(WINDOW_ITERATIONS, 60), lambda _: None)
    time.sleep(1)
    asked.end(window, lambda _: None)
    end_s = time.monotonic()
    time.sleep(BEHIND_S)
    end.touch()
    assert process.wait() == 0, f"the job of {window} failed"
    rows = [Row(*json.loads(line)) for line in (directory / "rows").read_text().splitlines()]
    before = [row.milliseconds for row in rows if begin_s - BEFORE_S < row.end_s < begin_s]
    behind = [row.milliseconds for row in rows if row.end_s > end_s and row.state == "waiting"]
    left = [row.milliseconds for row in rows if row.end_s > end_s and row.state == "off"]
    return math.log(median(behind) / median(before)), math.log(median(left) / median(before))


def main() -> None:
    """Measure, or be the job that is measured."""
    directory = Path(sys.argv[1]).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:] == ["job"]:
        run_job(directory / "end")
        return
    found = [changes_of_job(Path(tempfile.mkdtemp(dir=directory))) for _ in range(JOBS)]
    note = f"{JOBS} jobs of launches alone"
    for metric, changes in zip(
        ("slower in the minute behind a window", "slower once CUPTI is left"), zip(*found, strict=True), strict=True
    ):
        print_results(results(metric, "%", percent(changes), note=note))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
