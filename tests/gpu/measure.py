"""What recording costs on a GPU, as JSON: one line per metric, in the form of `make bench`.

    python -m tests.gpu.measure OUTPUT        # in the checkout; the package is the installed one

Blocks of a launch-bound loop run in one process, in rounds of random order: plain, recorded, and with the least that a
tracer needs of CUPTI.
"""

import ctypes
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import numpy
import torch

import rlscope
from benchmarks.result import Result, Target, Value, print_results, results
from benchmarks.timing import median
from rlscope.analysis.breakdown import analyze
from rlscope.record import recorder
from rlscope.record.config import LAYERS, RecordConfig
from rlscope.record.trace_directory import begin_trace
from rlscope.trace.reader import open_trace
from tests.gpu.programs.td3_like import make_iteration

HERE = Path(__file__).parent
PROGRAM = HERE / "programs" / "td3_like.py"
BLOCK_ITERATIONS = 30
WARM_UP_ITERATIONS = 5
ROUNDS = 60
PIECE_ROUNDS = 9
TRACED_ITERATIONS = 1000
RESIDUE_BLOCKS = 40
RESIDUE_PROCESSES = 3
SPIN_CYCLES = 20_000_000  # about 10 ms

Arm = Callable[[], AbstractContextManager[object]]


def build_bare_cupti(directory: Path) -> ctypes.CDLL:
    """Compiles bare_cupti.cpp against the libcupti that this process has loaded already."""
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libcupti.so" in line}
    library = directory / "bare_cupti.so"
    includes = [path for entry in sys.path for path in Path(entry or ".").glob("nvidia/*/include")]
    includes += [Path("/usr/local/cuda/include"), Path("/usr/local/cuda/extras/CUPTI/include")]
    subprocess.run(
        ["g++", "-O2", "-shared", "-fPIC", str(HERE / "bare_cupti.cpp"), *loaded, "-o", str(library)]
        + [f"-I{path}" for path in includes if path.is_dir()],
        check=True,
    )
    return ctypes.CDLL(str(library))


def block_ms(iteration: Callable[[], None]) -> float:
    """Milliseconds per iteration of one block, the device's work included."""
    torch.cuda.synchronize()
    started_ns = time.perf_counter_ns()
    for _ in range(BLOCK_ITERATIONS):
        iteration()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - started_ns) / BLOCK_ITERATIONS / 1e6


def ratios_to_off(arms: dict[str, Arm], rounds: int) -> dict[str, Value]:
    """Ratio of an arm's block to the plain block of the same round: medians over rounds of random order."""
    iteration = make_iteration()
    for _ in range(50):
        iteration()
    everything = {"off": nullcontext, **arms}
    names = list(everything)
    order = numpy.random.default_rng(0)
    ratios: dict[str, list[float]] = {name: [] for name in arms}
    for round_number in range(rounds + 1):
        times = {}
        for index in order.permutation(len(names)):
            with everything[names[index]]():
                for _ in range(WARM_UP_ITERATIONS):
                    iteration()
                times[names[index]] = block_ms(iteration)
        if round_number:  # the first round loads what the profilers need
            for name in arms:
                ratios[name].append(times[name] / times["off"])
    return {name: median(values) for name, values in ratios.items()}


def own_arms(directory: Path) -> dict[str, Arm]:
    """The recorder with all layers and without that of CUDA, and the least that a tracer needs of CUPTI."""
    bare = build_bare_cupti(directory)

    @contextmanager
    def recorded(layers: tuple[str, ...]) -> Iterator[None]:
        trace = directory / "trace"
        config = RecordConfig(layers=layers)
        begin_trace(trace, config, command=None, is_forced=False)
        recorder.activate(trace, config)
        yield
        recorder.deactivate()
        shutil.rmtree(trace)

    @contextmanager
    def bare_cupti() -> Iterator[None]:
        assert bare.bare_start() == 0, "CUPTI refused the bare tracer"
        yield
        bare.bare_stop()

    cpu_layers = tuple(layer for layer in LAYERS if layer != "cuda")
    return {
        "rlscope": lambda: recorded(LAYERS),
        "rlscope, CPU layers only": lambda: recorded(cpu_layers),
        "bare CUPTI": bare_cupti,
    }


def pieces() -> dict[str, tuple[Callable[[int], None], int]]:
    """Calls of which it shows best what is added to one: what runs so many of them, and how many."""
    on_device, on_host = torch.zeros(16, device="cuda"), torch.zeros(1)
    layer, rows = torch.nn.Linear(8, 8), torch.zeros(1, 8)

    def launches(calls: int) -> None:
        for _ in range(calls):
            on_device.add_(1)

    def additions(calls: int) -> None:
        for _ in range(calls):
            torch.add(on_host, on_host)

    def layers(calls: int) -> None:
        with torch.no_grad():
            for _ in range(calls):
                layer(rows)

    return {"a kernel launch": (launches, 1000), "torch.add": (additions, 2000), "a module": (layers, 500)}


def added_to_a_call(directory: Path) -> Iterator[Result]:
    """Time that recording adds to one call, against the plain call of the same round."""
    arms = {"off": nullcontext, **own_arms(directory)}
    names = list(arms)
    order = numpy.random.default_rng(0)
    for piece, (run, calls) in pieces().items():
        added: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(PIECE_ROUNDS):
            times = {}
            for index in order.permutation(len(names)):
                with arms[names[index]]():
                    run(calls // 10)
                    torch.cuda.synchronize()
                    started_ns = time.perf_counter_ns()
                    run(calls)
                    times[names[index]] = (time.perf_counter_ns() - started_ns) / calls
                    torch.cuda.synchronize()
            for name in names:
                added[name].append(times[name] - times["off"])
        found = {name: median(values) for name, values in added.items() if name != "off"}
        yield from results(f"added to {piece}", "ns", found.pop("rlscope"), found)


def slowdowns(directory: Path) -> Iterator[Result]:
    """Of the recorder, and of torch.profiler in a process of its own: it leaves the process slower than it was."""
    found = ratios_to_off(own_arms(directory), ROUNDS)
    profiler = in_another_process(directory, "torch.profiler")
    own, bare = found.pop("rlscope"), found["bare CUPTI"]
    peers = {**found, "torch.profiler": Value(*profiler)}
    note = f"{ROUNDS} rounds of {BLOCK_ITERATIONS} iterations; target: bare CUPTI of the same run + 0.02"
    yield from results("slowdown of the TD3-like loop", "x", own, peers, Target(bare.value + 0.02), note)


def in_another_process(directory: Path, *arguments: str) -> list[float]:
    """The numbers that this file prints there."""
    command = [sys.executable, "-m", "tests.gpu.measure", str(directory), *arguments]
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parent.parent)
    return [float(word) for word in finished.stdout.split()]


def trace_size(directory: Path) -> Iterator[Result]:
    """Bytes of a trace of 1000 iterations, with every layer."""
    trace = directory / "size"
    command = [sys.executable, "-m", "rlscope", "record", "-o", str(trace), "--"]
    subprocess.run([*command, sys.executable, str(PROGRAM), "--iterations", str(TRACED_ITERATIONS)], check=True)
    size = sum(path.stat().st_size for path in trace.glob("*.rlscope")) / 1e6
    analysis = analyze(open_trace(trace))
    note = f"{int(analysis.device_work['count'].sum()):,} device records, {TRACED_ITERATIONS} iterations"
    profiler_mb = torch_profiler_megabytes(directory)
    peers = {"torch.profiler, Chrome JSON": Value(profiler_mb)}
    yield from results("trace of the TD3-like loop", "MB", Value(size), peers, Target(6), note)


def torch_profiler_megabytes(directory: Path) -> float:
    """The same of torch.profiler, from a tenth of the iterations."""
    iteration = make_iteration()
    with torch.profiler.profile() as profiler:
        for _ in range(TRACED_ITERATIONS // 10):
            iteration()
    path = directory / "torch.json"
    profiler.export_chrome_trace(str(path))
    return path.stat().st_size * 10 / 1e6


def residue(directory: Path) -> Iterator[Result]:
    """Time of plain blocks after a recording over that before it, less 1, in processes of their own."""
    found: dict[str, list[float]] = {"rlscope": [], "nothing": [], "torch.profiler": []}
    for _ in range(RESIDUE_PROCESSES):
        for name, changes in found.items():
            changes += in_another_process(directory, "residue", name)
    own = median([100 * change for change in found["rlscope"]])
    peers = {
        "no recording at all": median([100 * change for change in found["nothing"]]),
        "torch.profiler": median([100 * change for change in found["torch.profiler"]]),
    }
    note = f"{RESIDUE_PROCESSES} processes of {RESIDUE_BLOCKS} blocks before and after"
    yield from results("residue after stop", "%", own, peers, None, note)


def print_residue(directory: Path, name: str) -> None:
    """In a process of its own: the ratio after to before, less 1, for every pair of blocks."""
    recordings: dict[str, Arm] = {
        "rlscope": lambda: rlscope.profile(output=Path(tempfile.mkdtemp(dir=directory)) / "trace"),
        "nothing": nullcontext,
        "torch.profiler": torch.profiler.profile,
    }
    iteration = make_iteration()
    for _ in range(3 * BLOCK_ITERATIONS):
        iteration()
    before = [block_ms(iteration) for _ in range(RESIDUE_BLOCKS)]
    with recordings[name]():
        block_ms(iteration)
    block_ms(iteration)
    after = [block_ms(iteration) for _ in range(RESIDUE_BLOCKS)]
    print(*(late / early - 1 for early, late in zip(before, after, strict=True)))


def busy_time(directory: Path) -> Iterator[Result]:
    """Recorded busy time of spinning kernels over what CUDA events say of the same kernels."""
    ratios = []
    for number in range(5):
        trace = directory / f"busy{number}"
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(SPIN_CYCLES)
        torch.cuda.synchronize()
        with rlscope.profile(output=trace):
            with rlscope.operation("spin"):
                start.record()
                for _ in range(20):
                    torch.cuda._sleep(SPIN_CYCLES)
                end.record()
            torch.cuda.synchronize()
        table = analyze(open_trace(trace)).gpu_operations
        busy_ms = 1e3 * float(table.loc[table["operation"] == "spin", "busy_s"].sum())
        ratios.append(busy_ms / start.elapsed_time(end))
    low, high = min(ratios), max(ratios)
    off = max(abs(math.log(low)), abs(math.log(high))) * 100
    yield from results("busy time, off from CUDA events", "%", Value(off), None, Target(1), "20 kernels of about 10 ms")


def main() -> None:
    """Runs every measurement; what one found is printed before the next begins."""
    directory = Path(sys.argv[1]).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:3] == ["residue"]:
        print_residue(directory, sys.argv[3])
        return
    if sys.argv[2:3] == ["torch.profiler"]:
        found = ratios_to_off({"torch.profiler": torch.profiler.profile}, ROUNDS // 4)["torch.profiler"]
        print(found.value, found.low, found.high)
        return
    for measurement in (busy_time, trace_size, added_to_a_call, slowdowns, residue):
        print_results(measurement(directory))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
