"""What recording adds to a launch on a GPU, and to the slowest of many, beside what CUPTI's options change, as JSON.

    python -m tests.gpu.launches OUTPUT [options|graph|tail]      # in the checkout; the package is the installed one

Each option is tried in a tracer that does nothing else (bare_cupti.cpp), in turns with the recorder.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.result import Result, Target, Value, print_results, results
from benchmarks.timing import Loop, added_ns, median
from tests.gpu.measure import Arm, BareOptions, bare_cupti, build_bare_cupti, own_arms, pieces, pin, queued_ns

# Of CUpti_ActivityAttribute and CUpti_ActivityKind.
DEVICE_BUFFER_SIZE, DEVICE_BUFFER_PRE_ALLOCATE, HOST_PINNED, PER_THREAD_BUFFERS = 0, 6, 8, 9
SERIAL_KERNEL, GRAPH_TRACE = 3, 51
MIB = 1 << 20

ROUNDS = 25
LAUNCHES = 2000
GRAPH_KERNELS = 100
REPLAYS = 50
TAIL_ROUNDS = 15
PROFILER_ROUNDS = 5
TAIL_LAUNCHES = 10_000
TAIL_BLOCK = 500  # launches between two waits, so that no launch waits for a place in the queue
PLAIN, BARE = "plain", "bare CUPTI"
PROFILER: dict[str, Arm] = {"torch.profiler": torch.profiler.profile}
FloatArray = npt.NDArray[np.float64]

OPTIONS = {
    "no callbacks": BareOptions(has_callbacks=False),
    "buffers of 64 KiB": BareOptions(buffer_bytes=MIB // 16),
    "buffers of 8 MiB": BareOptions(buffer_bytes=8 * MIB),
    "one buffer for all threads": BareOptions(attribute=PER_THREAD_BUFFERS, value=0),
    "device buffers of 32 MiB": BareOptions(attribute=DEVICE_BUFFER_SIZE, value=32 * MIB),
    "16 device buffers made before": BareOptions(attribute=DEVICE_BUFFER_PRE_ALLOCATE, value=16),
    "device buffers in pinned host memory": BareOptions(attribute=HOST_PINNED, value=1),
    "kernels one at a time": BareOptions(kernels=SERIAL_KERNEL),
}


def options(directory: Path) -> Iterator[Result]:
    """Time that is added to a launch, for each option of CUPTI's alone."""
    bare = build_bare_cupti(directory)
    tried = {f"{BARE}, {name}": partial(bare_cupti, bare, found) for name, found in OPTIONS.items()}
    launches, _ = pieces()["a kernel launch"]
    yield from added("a launch", launches, LAUNCHES, {**own(directory), **tried}, queued_ns)


def graph(directory: Path) -> Iterator[Result]:
    """Time that is added to the replay of a graph: a record for each kernel, and one for the whole graph."""
    graph_trace = partial(bare_cupti, build_bare_cupti(directory), BareOptions(kernels=GRAPH_TRACE))
    tools = {**own(directory), f"{BARE}, a record for each graph": graph_trace}
    yield from added(f"a replay of {GRAPH_KERNELS} kernels", captured, REPLAYS, tools, replayed_ns)


def captured(replays: int) -> Callable[[], None]:
    """Replays of a new graph: CUPTI 13.0 crashes where a graph is older than the tracing that has a record for each."""
    numbers = torch.zeros(16, device="cuda")
    kernels = torch.cuda.CUDAGraph()
    with torch.cuda.graph(kernels):
        for _ in range(GRAPH_KERNELS):
            numbers.add_(1)

    def replay() -> None:
        for _ in range(replays):
            kernels.replay()
        torch.cuda.synchronize()

    return replay


def replayed_ns(capture: Callable[[int], Callable[[], None]], replays: int) -> float:
    """Nanoseconds of so many replays of a graph that was replayed as often before, the device's work included."""
    replay = capture(replays)
    replay()
    started_ns = time.perf_counter_ns()
    replay()
    return time.perf_counter_ns() - started_ns


def own(directory: Path) -> dict[str, Arm]:
    """The recorder and the bare tracer; torch.profiler comes behind all others, as it does not give CUPTI back."""
    found = own_arms(directory)
    return {name: found[name] for name in ("rlscope", BARE)}


def added(
    what: str, run: Loop, calls: int, tools: Mapping[str, Arm], time_ns: Callable[[Loop, int], float]
) -> Iterator[Result]:
    """Compare what tools add to a call with the plain call of the same round."""
    found: dict[str, Value] = {}
    for some, rounds in ((tools, ROUNDS), (PROFILER, PROFILER_ROUNDS)):
        found |= added_ns(run, {name: (run, tool) for name, tool in some.items()}, calls, rounds, time_ns)
    recorded, target = found.pop("rlscope"), Target(found[BARE].value)
    yield from results(f"added to {what}", "ns", recorded, found, target, f"{ROUNDS} rounds")


def tail(directory: Path) -> Iterator[Result]:
    """The slowest launches of 10,000, not what was added: plain ones have a tail, too."""
    numbers = torch.zeros(16, device="cuda")
    found: dict[str, list[FloatArray]] = {}
    order = np.random.default_rng(0)
    for tools, rounds in (({PLAIN: nullcontext, **own(directory)}, TAIL_ROUNDS), (PROFILER, PROFILER_ROUNDS)):
        names = list(tools)
        for index in (index for _ in range(rounds) for index in order.permutation(len(names))):
            with tools[names[index]]():
                found.setdefault(names[index], []).append(launch_times_us(numbers))
                torch.cuda.synchronize()
    note = f"median of {TAIL_ROUNDS} times {TAIL_LAUNCHES:,} launches"
    for share in (50.0, 99.0, 99.9, 100.0):
        values = {
            name: median([float(np.percentile(times, share)) for times in every]) for name, every in found.items()
        }
        recorded, target = values.pop("rlscope"), Target(values[BARE].value)
        yield from results(f"{share:g} % of launches take at most", "us", recorded, values, target, note)


def launch_times_us(numbers: torch.Tensor) -> FloatArray:
    """Microseconds of each of 10,000 launches, the first of a recording too."""
    times_ns = np.empty(TAIL_LAUNCHES)
    clock = time.perf_counter_ns
    for number in range(TAIL_LAUNCHES):
        if number % TAIL_BLOCK == 0:
            torch.cuda.synchronize()
        started_ns = clock()
        numbers.add_(1)
        times_ns[number] = clock() - started_ns
    return times_ns / 1e3


def main() -> None:
    """Runs every measurement; what one found is printed before the next begins."""
    directory = Path(sys.argv[1]).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    pin()
    measurements = {found.__name__: found for found in (options, graph, tail)}
    if len(sys.argv) > 2:
        print_results(measurements[sys.argv[2]](directory))
        return
    for name in measurements:  # each in a process of its own, because of torch.profiler
        subprocess.run([sys.executable, "-m", "tests.gpu.launches", str(directory), name], check=True)


if __name__ == "__main__":
    main()
