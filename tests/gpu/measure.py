"""What recording costs on a GPU, as JSON: one line per metric, in the form of `make bench`.

    python -m tests.gpu.measure OUTPUT [busy_time|trace_size|…]      # in the checkout; the package is the installed one

Blocks of a launch-bound loop run plain, recorded, and with the least that a tracer needs of CUPTI.
"""

import ctypes
import functools
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from scipy import stats

import rlscope
from benchmarks.result import Result, Target, Value, print_results, results
from benchmarks.timing import added_ns
from rlscope.analysis.analysis import analyze
from rlscope.libraries import LIBRARIES
from rlscope.record import recorder
from rlscope.record.config import LAYERS, RecordConfig
from rlscope.record.run.trace_directory import begin_trace
from rlscope.trace.reader import open_trace
from tests.gpu.programs.td3_like import make_iteration

HERE = Path(__file__).parent
CONCURRENT_KERNEL = 10  # of CUpti_ActivityKind
PROGRAM = HERE / "programs" / "td3_like.py"
BLOCK_ITERATIONS = 3
PHASE_ROUNDS = 20
CYCLES = 24
PROFILER_CYCLES = 4  # it takes seconds to start and to stop, and its cost is so large that fewer show it
RESIDUE_PROCESSES = 7
RESIDUE_PROFILERS = 2
RESIDUE_ROUNDS = 80
PINNED_PROCESSORS = 2
PIECE_ROUNDS = 9
TRACED_ITERATIONS = 1000
SPIN_CYCLES = 20_000_000  # about 10 ms

Arm = Callable[[], AbstractContextManager[object]]


@functools.cache
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


def block_ms(iteration: Callable[[], None], iterations: int = BLOCK_ITERATIONS) -> float:
    """Milliseconds per iteration of one block, the device's work included."""
    torch.cuda.synchronize()
    started_ns = time.perf_counter_ns()
    for _ in range(iterations):
        iteration()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - started_ns) / iterations / 1e6


class BareOptions(ctypes.Structure):
    """What bare_cupti.cpp asks of CUPTI: `Options` there."""

    _fields_: ClassVar = [
        ("has_callbacks", ctypes.c_int),
        ("attribute", ctypes.c_int),
        ("value", ctypes.c_size_t),
        ("buffer_bytes", ctypes.c_size_t),
        ("kernels", ctypes.c_int),
    ]

    def __init__(
        self,
        has_callbacks: bool = True,
        attribute: int = -1,
        value: int = 0,
        buffer_bytes: int = 1 << 20,
        kernels: int = CONCURRENT_KERNEL,
    ) -> None:
        super().__init__(has_callbacks, attribute, value, buffer_bytes, kernels)


@contextmanager
def bare_cupti(library: ctypes.CDLL, options: BareOptions) -> Iterator[None]:
    """Traces with the least that a tracer needs."""
    error = library.bare_start(ctypes.byref(options))
    assert error == 0, f"CUPTI refused the bare tracer with error {error}"
    yield
    library.bare_stop()


def own_arms(directory: Path) -> dict[str, Arm]:
    """The recorder with all layers, with that of CUDA and without it; CUPTI with and without callbacks."""
    bare = build_bare_cupti(directory)

    @contextmanager
    def recorded(layers: tuple[str, ...]) -> Iterator[None]:
        trace = directory / "trace"
        config = RecordConfig(layers=layers)
        os.close(begin_trace(trace, config, command=None, is_forced=False))
        recorder.activate(trace, config, LIBRARIES)
        yield
        recorder.deactivate()
        shutil.rmtree(trace)

    cpu_layers = tuple(layer for layer in LAYERS if layer != "cuda")
    return {
        "rlscope": lambda: recorded(LAYERS),
        "rlscope, CPU layers only": lambda: recorded(cpu_layers),
        "rlscope, CUDA layer only": lambda: recorded(("cuda",)),
        "bare CUPTI": lambda: bare_cupti(bare, BareOptions()),
        "bare CUPTI, records only": lambda: bare_cupti(bare, BareOptions(has_callbacks=False)),
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
    arms = own_arms(directory)
    for piece, (run, calls) in pieces().items():
        found = added_ns(run, {name: (run, arm) for name, arm in arms.items()}, calls, PIECE_ROUNDS, queued_ns)
        yield from results(f"added to {piece}", "ns", found.pop("rlscope"), found)


def queued_ns(run: Callable[[int], None], calls: int) -> float:
    """Nanoseconds that so many calls take the CPU, when the device has nothing else to do."""
    torch.cuda.synchronize()
    started_ns = time.perf_counter_ns()
    run(calls)
    took_ns = time.perf_counter_ns() - started_ns
    torch.cuda.synchronize()
    return took_ns


def trace_size(directory: Path) -> Iterator[Result]:
    """Bytes of a trace of 1000 iterations, with every layer."""
    trace = directory / "size"
    command = [sys.executable, "-m", "rlscope", "record", "-o", str(trace), "--"]
    subprocess.run([*command, sys.executable, str(PROGRAM), "--iterations", str(TRACED_ITERATIONS)], check=True)
    size = sum(path.stat().st_size for path in trace.glob("*.rlscope")) / 1e6
    analysis = analyze(open_trace(trace))
    note = f"{int(analysis.device_work.table['count'].sum()):,} device records, {TRACED_ITERATIONS} iterations"
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


class Looper:
    """A process that runs the loop of a module, block by block, and records itself when it is told to."""

    def __init__(self, directory: Path, tool: str, module: str = "tests.gpu.measure") -> None:
        command = [sys.executable, "-m", module, str(directory), "loop", tool]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE.parent.parent
        )

    def told(self, word: str) -> float:
        """What it answers to "block", "start" or "stop": milliseconds per iteration of the block that follows."""
        assert self._process.stdin and self._process.stdout
        print(word, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()


def loop_when_told(directory: Path, tool: str) -> None:
    """The other side of a Looper."""
    directory = Path(tempfile.mkdtemp(dir=directory))
    tools = {**own_arms(directory), "nothing": nullcontext, "torch.profiler": torch.profiler.profile}
    iteration = make_iteration()
    block_ms(iteration, 100)
    recording = ExitStack()
    for line in sys.stdin:
        if line.strip() == "start":
            recording.enter_context(tools[tool]())
        elif line.strip() == "stop":
            recording.close()
        print(block_ms(iteration), flush=True)


def slowdown(directory: Path) -> Iterator[Result]:
    """How much slower the loop is while it is recorded, against a process that is never recorded.

    Processes take turns of a few milliseconds on the same two processors, so that a machine that changes its speed
    changes all of them. Each starts and stops its tool again and again, and is compared with itself seconds before.
    """
    peers = ("bare CUPTI", "rlscope, CUDA layer only", "rlscope, CPU layers only", "torch.profiler")
    pin()
    loopers = {name: Looper(directory, name) for name in ("nothing", "rlscope", *peers)}
    during, after = in_turns(loopers, CYCLES, PHASE_ROUNDS, PROFILER_CYCLES)
    note = f"{CYCLES} times {PHASE_ROUNDS} rounds of {BLOCK_ITERATIONS} iterations with it and without, in turns"
    yield from slower_than_plain("the TD3-like loop", "a loop", peers, during, after, note)


Phases = list[dict[str, float]]


def in_turns(loopers: dict[str, Looper], cycles: int, rounds: int, profiler_cycles: int) -> tuple[Phases, Phases]:
    """The phases of processes that start and stop their tools together, with them and without; ends the processes."""
    during: Phases = []
    after: Phases = []
    for number in range(cycles):
        if number == profiler_cycles:
            loopers.pop("torch.profiler").end()
        for word, phases in (("start", during), ("stop", after)):
            for looper in loopers.values():
                looper.told(word)
            phases.append(phase_of(loopers, rounds))
    for looper in loopers.values():
        looper.end()
    return during, after


def slower_than_plain(
    loop: str, kind: str, peers: Sequence[str], during: Phases, after: Phases, note: str
) -> Iterator[Result]:
    """What tools cost a loop, and what rlscope costs it more than bare CUPTI does."""
    slower = {name: percent(changes(name, during, after)) for name in ("rlscope", *peers)}
    own, target = slower.pop("rlscope"), Target(slower["bare CUPTI"].value + 2)
    yield from results(f"slowdown of {loop}", "%", own, slower, target, note)
    above = np.subtract(changes("rlscope", during, after), changes("bare CUPTI", during, after))
    yield from results(f"slowdown over {kind} under bare CUPTI", "%", percent(above), None, Target(2), note)


def residue(directory: Path) -> Iterator[Result]:
    """How much slower the loop is after its first recording has ended, in new processes; otherwise as in `slowdown`.

    New ones change their speed anyhow, so one that is not recorded is new each time too.
    """
    pin()
    steady = Looper(directory, "nothing")
    left: list[dict[str, float]] = []
    for number in range(RESIDUE_PROCESSES):
        tools = {"not recorded": "nothing", "rlscope": "rlscope"}
        if number < RESIDUE_PROFILERS:
            tools["torch.profiler"] = "torch.profiler"
        new = {name: Looper(directory, tool) for name, tool in tools.items()}
        left.append(changes_by(("start", *["block"] * PHASE_ROUNDS, "stop"), steady, new, RESIDUE_ROUNDS))
        for looper in new.values():
            looper.end()
    steady.end()
    note = f"{RESIDUE_PROCESSES} processes, {RESIDUE_ROUNDS} rounds of {BLOCK_ITERATIONS} iterations before and after"
    found = {
        name: percent([one[name] - one["not recorded"] for one in left if name in one])
        for name in ("rlscope", "torch.profiler")
    }
    peers = {"torch.profiler": found["torch.profiler"]}
    yield from results("residue after stop", "%", found["rlscope"], peers, None, note)


def changes_by(words: Sequence[str], steady: Looper, new: dict[str, Looper], rounds: int) -> dict[str, float]:
    """How new processes change when they are told these words, against one that goes on: changes of logarithms."""
    loopers = {"nothing": steady, **new}
    for looper in loopers.values():
        looper.told("block")
    before = phase_of(loopers, rounds)
    for word in words:
        for looper in new.values():
            looper.told(word)
    after = phase_of(loopers, rounds)
    return {name: after[name] - before[name] for name in new}


def pin() -> None:
    """Gives this process and those that it starts two processors."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-PINNED_PROCESSORS:])


def phase_of(loopers: dict[str, Looper], rounds: int = PHASE_ROUNDS) -> dict[str, float]:
    """Medians of the logarithms of the ratios of their times to those of the process that is never recorded."""
    found: dict[str, list[float]] = {name: [] for name in loopers}
    for _ in range(rounds):
        times = {name: looper.told("block") for name, looper in loopers.items()}
        for name in loopers:
            found[name].append(math.log(times[name] / times["nothing"]))
    return {name: float(np.median(values)) for name, values in found.items()}


def changes(name: str, late: list[dict[str, float]], early: list[dict[str, float]]) -> list[float]:
    """Of the pairs of phases in which it took part."""
    return [one[name] - other[name] for one, other in zip(late, early, strict=True) if name in one]


def percent(changes: Sequence[float]) -> Value:
    """From the mean change of a logarithm, with a 95 % bootstrap interval."""
    found = stats.bootstrap((changes,), np.mean, n_resamples=2000, rng=0).confidence_interval
    value, low, high = (100 * math.expm1(change) for change in (np.mean(changes), found.low, found.high))
    return Value(value, low, high)


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
        table = analyze(open_trace(trace)).gpu_operations.table
        busy_ms = 1e3 * float(table.loc[table["operation"] == "spin", "busy_s"].sum())
        ratios.append(busy_ms / start.elapsed_time(end))
    low, high = min(ratios), max(ratios)
    off = max(abs(math.log(low)), abs(math.log(high))) * 100
    yield from results("busy time, off from CUDA events", "%", Value(off), None, Target(1), "20 kernels of about 10 ms")


def main() -> None:
    """Runs every measurement; what one found is printed before the next begins."""
    directory = Path(sys.argv[1]).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:3] == ["loop"]:
        loop_when_told(directory, sys.argv[3])
        return
    measurements = {found.__name__: found for found in (busy_time, trace_size, added_to_a_call, slowdown, residue)}
    for name in sys.argv[2:] or measurements:
        print_results(measurements[name](directory))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
