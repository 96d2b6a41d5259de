"""This file measures how much longer a real training takes while it is recorded.

rlscope: three processes train in turns, burst by burst, and swap roles (`run_twins`): one is recorded, one waits for
windows as under `rlscope record --idle`, one is plain. That is good to half a per cent on a machine that changes its
speed. Other profilers: two adjacent blocks of one process make a pair, one recorded and one not, in random order.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks import OUTPUT
from benchmarks.recording import peers
from benchmarks.recording.workloads import BLOCK_BURSTS, ENVIRONMENTS, blocks_of, train_in_bursts
from benchmarks.result import Target, Value, print_results, results
from benchmarks.timing import Recording, median
from rlscope.calibration.twins import Clock, Twin, run_twins
from rlscope.record.config import STACKS_HZ, RecordConfig

TARGETS = {"ppo": Target(1.01), "td3": Target(1.005), "ppo_cartpole": Target(1.04)}
IDLE_TARGET = Target(1.001)
DEFAULT = RecordConfig(stacks_hz=STACKS_HZ)  # as `rlscope record` records
TWINS = {"plain": Twin(), "recorded": Twin(DEFAULT), "idle": Twin(RecordConfig(idle=True))}
TWINS_S = 150
SWAPS = 2
# Where measuring a peer stops: half of the interval, or seconds.
PEER_HALF_WIDTH, PEER_LIMIT_S = 0.01, 15
FEWEST_PAIRS = 5
PEERS: dict[str, Recording] = {
    "cProfile": peers.cprofile,
    "VizTracer": peers.viztracer_recording,
    "pyinstrument (samples)": peers.pyinstrument_recording,
    "torch.profiler": peers.torch_profiler,
}


@dataclass(frozen=True)
class Slowdown:
    """Ratios of a training's time, recorded to not: by the clock on the wall, and of processors."""

    wall: Value
    cpu: Value


def blocks_of_twins(
    algorithm: str, twins: Mapping[str, Twin], seconds: float, has_device: bool = False, clock: Clock | None = None
) -> dict[str, NDArray[np.int64]]:
    """Return the lengths in ns of each twin's blocks; bursts of those at one index alternated. See `run_twins`."""
    processors = os.sched_getaffinity(0)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    cycle = BLOCK_BURSTS[algorithm]
    with tempfile.TemporaryDirectory(dir=OUTPUT) as directory:
        program = partial(train_in_bursts, algorithm)
        lengths_ns = run_twins(twins, program, Path(directory), seconds, SWAPS, cycle, cycle, has_device, clock)
    os.sched_setaffinity(0, processors)
    return {name: found.reshape(-1, cycle).sum(axis=1) for name, found in lengths_ns.items()}


def slowdown_of_blocks(train: Callable[[], None], recording: Recording) -> Slowdown:
    """Return what a recording does to blocks of a training in this process."""
    order = np.random.default_rng(0)
    deadline_ns = time.monotonic_ns() + int(PEER_LIMIT_S * 1e9)
    ratios: list[NDArray[np.float64]] = []
    while True:
        is_recorded_first = bool(order.integers(2))
        first = _time_block(train, recording if is_recorded_first else peers.nothing)
        second = _time_block(train, peers.nothing if is_recorded_first else recording)
        ratios.append(first / second if is_recorded_first else second / first)
        if len(ratios) < FEWEST_PAIRS:
            continue
        found = Slowdown(*(median(each.tolist()) for each in np.transpose(ratios)))
        widths = [each.high - each.low for each in (found.wall, found.cpu)]  # type: ignore[operator]
        if max(widths) <= 2 * PEER_HALF_WIDTH or time.monotonic_ns() > deadline_ns:
            return found


def _time_block(train: Callable[[], None], recording: Recording) -> NDArray[np.int64]:
    """Return wall and CPU time of one block, in ns. Starting and stopping is not in it."""
    with recording():
        started_ns = _times_ns()
        train()
        return _times_ns() - started_ns


def _times_ns() -> NDArray[np.int64]:
    """Return the time on the wall, and of processors that this process and its children have used."""
    children_s = sum(sum(child.cpu_times()[:2]) for child in psutil.Process().children())
    return np.array([time.perf_counter_ns(), time.process_time_ns() + int(children_s * 1e9)])


def main() -> None:
    """Measure rlscope, then each peer for a shorter time, on the algorithm of the command line."""
    algorithm = sys.argv[1]
    # The thread that looks at stacks is a part of the process, and of what recording costs.
    lengths_ns = blocks_of_twins(algorithm, TWINS, TWINS_S, clock=time.process_time_ns)
    ratios, idle_ratios = (lengths_ns[name] / lengths_ns["plain"] for name in ("recorded", "idle"))
    train = blocks_of(algorithm)
    others = {peer: slowdown_of_blocks(train, recording).cpu for peer, recording in PEERS.items()}
    training = f"{algorithm.partition('_')[0].upper()} on {ENVIRONMENTS[algorithm]}"
    metric, note = f"slowdown of {training}, CPU time", f"{len(ratios)} pairs of blocks"
    print_results(results(metric, "x", median(ratios.tolist()), others, TARGETS[algorithm], note))
    metric = f"slowdown of {training} that waits for windows, CPU time"
    print_results(results(metric, "x", median(idle_ratios.tolist()), target=IDLE_TARGET, note=note))


if __name__ == "__main__":
    main()
