"""How much longer a real training takes while it is recorded: recording is switched on and off in one process.

Two adjacent blocks of training make a pair, one recorded and one not, in random order. The slowdown is the median ratio
within pairs; measuring goes on until its interval is narrow or the time is up. Starting and stopping is not in it.
"""

import sys
import time
from collections.abc import Callable

import numpy

from benchmarks import peers
from benchmarks.result import Target, Value, print_results, results
from benchmarks.timing import Recording, median
from benchmarks.workloads import blocks_of

TARGETS = {"ppo": Target(1.03), "td3": Target(1.01)}
# Where measuring stops: half of the interval, or seconds.
RLSCOPE_HALF_WIDTH, RLSCOPE_LIMIT_S = 0.005, 200
PEER_HALF_WIDTH, PEER_LIMIT_S = 0.01, 25
FEWEST_PAIRS = 5
PEERS: dict[str, Recording] = {
    "cProfile": peers.cprofile,
    "VizTracer": peers.viztracer_recording,
    "pyinstrument (samples)": peers.pyinstrument_recording,
    "torch.profiler": peers.torch_profiler,
}


def slowdown(
    train: Callable[[], None], recording: Recording, half_width: float, limit_s: float
) -> tuple[Value, Value, int]:
    """Ratios of CPU time and of wall time, recorded to not, and the number of pairs."""
    order = numpy.random.default_rng(0)
    deadline_ns = time.monotonic_ns() + int(limit_s * 1e9)
    cpu_ratios: list[float] = []
    wall_ratios: list[float] = []
    while True:
        is_recorded_first = bool(order.integers(2))
        first = _time_block(train, recording if is_recorded_first else peers.nothing)
        second = _time_block(train, peers.nothing if is_recorded_first else recording)
        recorded, plain = (first, second) if is_recorded_first else (second, first)
        cpu_ratios.append(recorded[0] / plain[0])
        wall_ratios.append(recorded[1] / plain[1])
        if len(cpu_ratios) < FEWEST_PAIRS:
            continue
        cpu, wall = median(cpu_ratios), median(wall_ratios)
        is_narrow = all(value.high - value.low <= 2 * half_width for value in (cpu, wall))  # type: ignore[operator]
        if is_narrow or time.monotonic_ns() > deadline_ns:
            return cpu, wall, len(cpu_ratios)


def _time_block(train: Callable[[], None], recording: Recording) -> tuple[int, int]:
    """CPU time of the process and wall time of one block, in ns."""
    with recording():
        started = time.process_time_ns(), time.perf_counter_ns()
        train()
        return time.process_time_ns() - started[0], time.perf_counter_ns() - started[1]


def main() -> None:
    """Measures rlscope until it is certain, then each peer for a shorter time, on the algorithm of the command line."""
    algorithm = sys.argv[1]
    train = blocks_of(algorithm)
    cpu, wall, pairs = slowdown(train, peers.rlscope_recording, RLSCOPE_HALF_WIDTH, RLSCOPE_LIMIT_S)
    cpu_peers, wall_peers = {}, {}
    for peer, recording in PEERS.items():
        cpu_peers[peer], wall_peers[peer], _ = slowdown(train, recording, PEER_HALF_WIDTH, PEER_LIMIT_S)
    name, target, note = algorithm.upper(), TARGETS[algorithm], f"{pairs} pairs of blocks"
    print_results(results(f"slowdown of {name}, CPU time", "x", cpu, cpu_peers, target, note))
    print_results(results(f"slowdown of {name}, wall time", "x", wall, wall_peers, target, note))


if __name__ == "__main__":
    main()
