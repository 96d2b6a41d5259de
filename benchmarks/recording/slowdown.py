"""This file measures how much longer a real training takes while it is recorded.

rlscope: two processes train in turns, burst by burst, one recorded and one not, and swap roles (`run_twins`). That is
good to half a per cent on a machine that changes its speed. Other profilers: two adjacent blocks of one process make a
pair, one recorded and one not, in random order.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import OUTPUT
from benchmarks.recording import peers
from benchmarks.recording.workloads import BLOCK_BURSTS, blocks_of, train_in_bursts
from benchmarks.result import Target, Value, print_results, results
from benchmarks.timing import Recording, median
from rlscope.calibration.twins import Twin, run_twins
from rlscope.record.config import RecordConfig

TARGETS = {"ppo": Target(1.03), "td3": Target(1.01)}
TWINS = {"plain": Twin(), "recorded": Twin(RecordConfig())}
TWINS_S = 150
SWAPS = 2
# Where measuring a peer stops: half of the interval, or seconds.
PEER_HALF_WIDTH, PEER_LIMIT_S = 0.01, 25
FEWEST_PAIRS = 5
PEERS: dict[str, Recording] = {
    "cProfile": peers.cprofile,
    "VizTracer": peers.viztracer_recording,
    "pyinstrument (samples)": peers.pyinstrument_recording,
    "torch.profiler": peers.torch_profiler,
}


def slowdown_of_twins(algorithm: str) -> tuple[Value, int]:
    """Return ratio of CPU time, recorded to not, and the number of pairs of blocks whose bursts alternated."""
    processors = os.sched_getaffinity(0)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    cycle = BLOCK_BURSTS[algorithm]
    with tempfile.TemporaryDirectory(dir=OUTPUT) as directory:
        lengths_ns = run_twins(
            TWINS, partial(train_in_bursts, algorithm), Path(directory), TWINS_S, SWAPS, settling=cycle, cycle=cycle
        )
    os.sched_setaffinity(0, processors)
    plain, recorded = (lengths_ns[name].reshape(-1, cycle).sum(axis=1) for name in TWINS)
    return median((recorded / plain).tolist()), len(plain)


def slowdown_of_blocks(train: Callable[[], None], recording: Recording) -> Value:
    """Return ratio of CPU time, recorded to not."""
    order = np.random.default_rng(0)
    deadline_ns = time.monotonic_ns() + int(PEER_LIMIT_S * 1e9)
    ratios: list[float] = []
    while True:
        is_recorded_first = bool(order.integers(2))
        first = _time_block(train, recording if is_recorded_first else peers.nothing)
        second = _time_block(train, peers.nothing if is_recorded_first else recording)
        ratios.append(first / second if is_recorded_first else second / first)
        if len(ratios) < FEWEST_PAIRS:
            continue
        found = median(ratios)
        is_narrow = found.high - found.low <= 2 * PEER_HALF_WIDTH  # type: ignore[operator]
        if is_narrow or time.monotonic_ns() > deadline_ns:
            return found


def _time_block(train: Callable[[], None], recording: Recording) -> int:
    """Return CPU time of the process in one block, in ns. Starting and stopping is not in it."""
    with recording():
        started_ns = time.process_time_ns()
        train()
        return time.process_time_ns() - started_ns


def main() -> None:
    """Measure rlscope, then each peer for a shorter time, on the algorithm of the command line."""
    algorithm = sys.argv[1]
    recorded, pairs = slowdown_of_twins(algorithm)
    train = blocks_of(algorithm)
    others = {peer: slowdown_of_blocks(train, recording) for peer, recording in PEERS.items()}
    metric = f"slowdown of {algorithm.upper()}, CPU time"
    print_results(results(metric, "x", recorded, others, TARGETS[algorithm], f"{pairs} pairs of blocks"))


if __name__ == "__main__":
    main()
