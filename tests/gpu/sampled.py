"""What it costs on a GPU that one iteration of fifty is recorded, as `record --every 50` does, as JSON.

    python -m tests.gpu.sampled OUTPUT      # in the checkout; the package is the installed one

New processes run the loop of td3_like.py: first nobody records them, then of each fifty iterations one is a window with
all layers. Next windows are made ready between blocks of fifty: `rlscope record` does that on another processor.
"""

import os
import sys
import tempfile
from pathlib import Path

import rlscope
from benchmarks.result import Target, Value, print_results, results
from rlscope.analysis.analysis import analyze
from rlscope.libraries import LIBRARIES
from rlscope.monitor.windows.run_windows import Windows, begun_windows
from rlscope.monitor.windows.window_keeper import LONGEST_S
from rlscope.record import recorder
from rlscope.record.config import RecordConfig
from rlscope.record.run.trace_directory import begin_trace, name_main_process
from rlscope.trace.reader import open_trace
from tests.gpu.measure import Looper, block_ms, changes_by, percent, pin
from tests.gpu.programs.td3_like import make_iteration

EVERY = 50
PROCESSES = 8
ROUNDS = 20
WARM_UP_ITERATIONS = 200


class Loop:
    """A loop of which one iteration of so many is recorded from some moment on."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._iteration = make_iteration()
        self._count = 0
        self._windows: Windows | None = None

    def begin(self) -> None:
        """Record from now on; before, nothing of the recorder is in place."""
        config = RecordConfig(idle=True, every=EVERY)
        self._held = begin_trace(self._run, config, command=None, is_forced=False)
        name_main_process(self._run, os.getpid())
        self._windows = Windows(self._run, config, sys.orig_argv, None)
        self._windows.main_pid = os.getpid()
        recorder.activate(self._run, config, LIBRARIES)

    def block_ms(self, iterations: int) -> float:
        """Return milliseconds per iteration of one block, the device's work included."""
        if self._windows is not None:
            self._windows.make_ready(LONGEST_S)
        return block_ms(self._reported_iteration, iterations)

    def _reported_iteration(self) -> None:
        self._iteration()
        self._count += 1
        rlscope.report_progress(timesteps=self._count)

    def end(self) -> int:
        """Return how many windows have kernels."""
        recorder.deactivate()
        if self._windows is None:
            return 0
        windows = begun_windows(self._run)
        for window in windows:
            self._windows.complete(window)
        return sum(bool(analyze(open_trace(window)).gpu_operations.records()) for window in windows)


def loop_when_told(run: Path, is_sampled: bool) -> None:
    """The other side of a Looper."""
    loop = Loop(run)
    loop.block_ms(WARM_UP_ITERATIONS)
    for line in sys.stdin:
        if line.strip() == "start" and is_sampled:
            loop.begin()
        print(loop.block_ms(EVERY) if line.strip() != "stop" else loop.end(), flush=True)


def always_on(directory: Path) -> tuple[Value, int, int]:
    """Return how much slower the loop is, the number of blocks that were sampled, and of iterations that were recorded.

    Processes change their speed anyhow, so one that is never recorded is new each time too.
    """
    pin()
    steady = Looper(directory, "plain", "tests.gpu.sampled")
    changes, recorded = [], 0
    for _ in range(PROCESSES):
        new = {name: Looper(directory, name, "tests.gpu.sampled") for name in ("plain", "sampled")}
        change = changes_by(("start",), steady, new, ROUNDS)
        changes.append(change["sampled"] - change["plain"])
        recorded += int(new["sampled"].told("stop"))
        for looper in new.values():
            looper.end()
    steady.end()
    return percent(changes), PROCESSES * (ROUNDS + 1), recorded


def main() -> None:
    """Measure, or be the loop that is measured."""
    directory = Path(sys.argv[1]).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    match sys.argv[2:]:
        case ["loop", kind]:
            loop_when_told(Path(tempfile.mkdtemp(dir=directory)) / "run", kind == "sampled")
        case _:
            slower, blocks, recorded = always_on(directory)
            note = f"{PROCESSES} processes, {blocks} blocks of {EVERY} iterations, in which {recorded} were recorded"
            print_results(results(f"slowdown of the TD3-like loop, one of {EVERY}", "%", slower, None, Target(1), note))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
