"""The program that a calibration measures: a loop of real calls, in blocks that are recorded in turn and not.

`python -m rlscope.calibration.workload PART SECONDS DIRECTORY` records into the directory, and prints what it measured,
`Measured`, as one JSON document.
"""

from __future__ import annotations

import bisect
import json
import math
import os
import random
import sys
import time
import zlib
from binascii import hexlify
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from struct import pack, unpack_from
from types import ModuleType
from typing import Any

from rlscope import _native
from rlscope.model import Category
from rlscope.record import recorder
from rlscope.record.config import RecordConfig
from rlscope.record.trace_directory import begin_trace, end_trace, name_main_process

#: How often each record's work is done in the blocks of a recording; what one record takes shows between the last two.
AMPLIFICATIONS = (1, 1, 4, 16)
#: Blocks are long beside a switch of threads and short beside the drift of a machine.
BLOCK_S = 0.008
#: After recording was switched on or off the interpreter has to specialize its instructions anew: for the first ten
#: milliseconds of a loop an event seems to cost up to a hundred times what it does in a recording that goes on.
SETTLING_S = 0.025
#: Work of so many ns between single events, and how many of these in each recording. Without work, for comparison.
PROBES = {0: 300, 50_000: 60, 300_000: 20}
#: Of the code and memory that this work uses, more than the caches near a core hold.
COOLING_FUNCTIONS = 2000
COOLING_BYTES = 1 << 14
#: Empty phases that fill the first, small chunks of a recording: changing chunks takes as long as a thousand records.
FILLING_PHASES = 100_000
#: More than the caches near a core hold, so that work and records are as cold as in a program.
TOUCHED_BYTES = 32 << 20

Iteration = Callable[[], object]


@dataclass
class Measured:
    """The blocks of one process.

    Attributes:
        missing: why this part cannot be measured here; empty if it can.
        versions: of the libraries that were called.
        iterations: of the loop in each block.
        recorded_iterations: in each recording, besides its probes.
        off_ns: per cycle, the lengths of the blocks before and after the recording.
        on_ns: the blocks of its recording by amplification, one list per cycle.
        probes_off_ns: how long a single event takes after work of so many ns, per cycle, not recorded.
        probes_on_ns: the same, recorded.
    """

    missing: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    iterations: int = 0
    recorded_iterations: int = 0
    off_ns: list[tuple[int, int]] = field(default_factory=list)
    on_ns: dict[int, list[list[int]]] = field(default_factory=dict)
    probes_off_ns: dict[int, list[float]] = field(default_factory=dict)
    probes_on_ns: dict[int, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """What one process measures.

    Attributes:
        config: how it is recorded: with the records whose cost is asked for and no others.
        iteration: makes the loop's body, and says which libraries it calls.
        probe: makes a call that is recorded as one event and takes a few microseconds; None: what costs after longer
            gaps is not measured.
        share: of the time for measuring: the less the records add to the loop, the longer it takes to see them.
        wrapped: modules whose native functions are boundaries besides those known.
        clock: that measures a block, in ns.
    """

    config: RecordConfig
    iteration: Callable[[], tuple[Iteration, dict[str, str]]]
    share: float
    probe: Callable[[], Iteration] | None = None
    wrapped: tuple[ModuleType, ...] = ()
    clock: Callable[[], int] = time.thread_time_ns


def _touched() -> tuple[bytearray, Callable[[int], int]]:
    memory = bytearray(random.Random(1).randbytes(TOUCHED_BYTES // 16) * 16)
    choose = random.Random(2).randrange
    return memory, choose


def annotated_python() -> tuple[Iteration, dict[str, str]]:
    """A few microseconds of Python in an operation each."""
    memory, choose = _touched()
    operation = _native.operation

    def step(name: str) -> int:
        with operation(name):
            place = choose(TOUCHED_BYTES - 64)
            return sum(memory[place : place + 24])

    def iteration() -> None:
        for _ in range(8):
            step("simulation")
            step("inference")
            step("evaluate")

    return iteration, {}


def empty_operation() -> Iteration:
    """An operation around nothing."""
    operation = _native.operation

    def probe() -> None:
        with operation("inference"):
            pass

    return probe


def environment_steps() -> tuple[Iteration, dict[str, str]]:
    """Steps of an environment in its usual wrappers, whose operations come from hooks."""
    import gymnasium

    environment = gymnasium.make("CartPole-v1")
    environment.reset(seed=1)

    def iteration() -> None:
        for _ in range(16):
            _, _, terminated, truncated, _ = environment.step(1 if random.random() < 0.5 else 0)
            if terminated or truncated:
                environment.reset()

    return iteration, {"gymnasium": gymnasium.__version__}


def endless_step() -> Iteration:
    """A step of an environment whose episodes have no end."""
    import gymnasium

    environment = gymnasium.make("CartPole-v1")
    environment.reset(seed=1)
    unwrapped: Any = environment.unwrapped

    def probe() -> None:
        unwrapped.state = (0.0, 0.0, 0.0, 0.0)
        environment.step(1)

    return probe


def standard_library() -> tuple[Iteration, dict[str, str]]:
    """Native functions of several calling conventions, on memory that is in no cache."""
    memory, choose = _touched()
    steps = sorted(choose(TOUCHED_BYTES) for _ in range(1000))

    def iteration() -> None:
        for _ in range(8):
            place = choose(TOUCHED_BYTES - 256)
            piece = memory[place : place + 200]
            first, second = unpack_from("<HH", piece, 0)
            length = math.hypot(first, second)
            hexlify(pack("<dI", length, zlib.crc32(piece)))
            zlib.adler32(piece, bisect.bisect(steps, place))

    return iteration, {}


def native_function() -> Iteration:
    """A call of the standard library."""
    data = bytes(64)
    return lambda: zlib.adler32(data)


def torch_addition() -> Iteration:
    """A call of PyTorch."""
    import torch

    numbers = torch.ones(8)
    return lambda: torch.add(numbers, numbers)


def torch_updates(device: str = "cpu") -> tuple[Iteration, dict[str, str]]:
    """A small policy that acts and is updated. Its calls are short, so that what recording adds to them shows."""
    import torch

    if device != "cpu" and not torch.cuda.is_available():
        raise ImportError("there is no GPU that PyTorch can use")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    weights = [torch.randn(shape, device=device).requires_grad_() for shape in ((8, 16), (16,), (16, 2), (2,))]
    observations, wanted = torch.randn(1 << 16, 8, device=device), torch.randn(1 << 16, 2, device=device)
    choose = random.Random(3).randrange

    def policy(inputs: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(inputs @ weights[0] + weights[1])
        return hidden @ weights[2] + weights[3]

    means, squares = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))

    def update(gradients: Sequence[torch.Tensor]) -> None:
        """Adam, tensor by tensor."""
        for weight, gradient, mean, square in zip(weights, gradients, means, squares, strict=True):
            mean.mul_(0.9).add_(gradient, alpha=0.1)
            square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            weight.addcdiv_(mean, square.sqrt().add_(1e-8), value=-1e-4)

    def iteration() -> None:
        with torch.no_grad():
            policy(observations[choose(1 << 16)]).argmax()
        place = choose((1 << 16) - 4)
        loss = (policy(observations[place : place + 4]) - wanted[place : place + 4]).pow(2).mean()
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for _ in range(4):
                update(gradients)

    return iteration, {"torch": torch.__version__}


def gpu_updates() -> tuple[Iteration, dict[str, str]]:
    """The same on a GPU, whose driver is asked for its version too."""
    iteration, versions = torch_updates("cuda")
    return iteration, versions | {"driver": str(_native.cuda_status()["driver_version"])}


PARTS = {
    "operation": Part(RecordConfig(layers=(), auto=False), annotated_python, share=0.15, probe=empty_operation),
    "operation/simulation": Part(RecordConfig(layers=()), environment_steps, share=0.15, probe=endless_step),
    "boundary": Part(
        RecordConfig(layers=(), auto=False),
        standard_library,
        share=0.2,
        probe=native_function,
        wrapped=tuple(sys.modules[name] for name in ("zlib", "binascii", "_struct", "_bisect", "math")),
    ),
    "boundary/torch": Part(
        RecordConfig(layers=("backend",), auto=False), torch_updates, share=0.5, probe=torch_addition
    ),
    "cuda": Part(RecordConfig(layers=("cuda",), auto=False), gpu_updates, share=0.2, clock=time.perf_counter_ns),
}


def measure(part: Part, seconds: float, directory: Path) -> Measured:
    """Runs blocks for as long, recorded ones into the directory of a trace."""
    try:
        iteration, versions = part.iteration()
    except ImportError as error:
        return Measured(missing=str(error))
    begin_trace(directory, part.config, command=None, is_forced=False)
    name_main_process(directory, os.getpid())
    blocks = Blocks(part, iteration, directory)
    measured = Measured(versions=versions, iterations=blocks.iterations)
    measured.recorded_iterations = blocks.settling_iterations + len(AMPLIFICATIONS) * blocks.iterations
    measured.on_ns = {times: [] for times in AMPLIFICATIONS}
    if part.probe:
        measured.probes_off_ns = {gap: [] for gap in PROBES}
        measured.probes_on_ns = {gap: [] for gap in PROBES}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline or not measured.off_ns:
        before = blocks.timed()
        blocks.record(measured)
        blocks.settle()
        measured.off_ns.append((before, blocks.timed()))
        blocks.probe(measured.probes_off_ns)
    end_trace(directory, exit_status=0)
    return measured


class Blocks:
    """Runs a part in blocks."""

    def __init__(self, part: Part, iteration: Iteration, directory: Path) -> None:
        self._part = part
        self._iteration = iteration
        self._directory = directory
        self._probe = part.probe() if part.probe else None
        self._cool = cooling()
        self.settle_for(10 * BLOCK_S)  # what is done at first use only
        each_s = 5 * BLOCK_S / self.settle_for(5 * BLOCK_S)
        self.iterations = max(1, round(BLOCK_S / each_s))
        self.settling_iterations = max(1, math.ceil(SETTLING_S / each_s))

    def settle_for(self, seconds: float) -> int:
        """How many iterations it took."""
        deadline, count = time.perf_counter() + seconds, 0
        while time.perf_counter() < deadline:
            self._iteration()
            count += 1
        return max(1, count)

    def settle(self) -> None:
        """Until what switching recording changes has passed."""
        for _ in range(self.settling_iterations):
            self._iteration()

    def timed(self) -> int:
        """How long a block takes."""
        clock, iteration = self._part.clock, self._iteration
        started = clock()
        for _ in range(self.iterations):
            iteration()
        return clock() - started

    def record(self, measured: Measured) -> None:
        """One block with each amplification, in random order, in a phase of that name; then the probes."""
        lengths: dict[int, list[int]] = {times: [] for times in AMPLIFICATIONS}
        recording = recorder.activate(self._directory, self._part.config)
        try:
            for module in self._part.wrapped:
                recording.wrap(module, Category.BACKEND)
            filling = _native.phase("filling")
            for _ in range(FILLING_PHASES):
                with filling:
                    pass
            self.settle()
            for times in random.sample(AMPLIFICATIONS, len(AMPLIFICATIONS)):
                with _native.phase(str(times)):
                    _native.amplify(times)
                    lengths[times].append(self.timed())
                    _native.amplify(1)
            self.probe(measured.probes_on_ns)
        finally:
            recorder.deactivate()
        for times, found in lengths.items():
            measured.on_ns[times].append(found)

    def probe(self, found: dict[int, list[float]]) -> None:
        """Adds how long the probe takes after each gap: the mean of the middle half of them."""
        probe, cool, now = self._probe, self._cool, time.perf_counter_ns
        if probe is None:
            return
        for gap in random.sample(list(PROBES), len(PROBES)):
            lengths = []
            for _ in range(PROBES[gap]):
                cool(gap)
                started = now()
                probe()
                lengths.append(now() - started)
            lengths.sort()
            middle = lengths[len(lengths) // 4 : -len(lengths) // 4]
            found[gap].append(sum(middle) / len(middle))


def cooling() -> Callable[[int], None]:
    """Work of so many ns that takes caches and branch predictors for itself, as a program's does; not recorded."""
    memory, choose = _touched()
    functions: list[Callable[[int], object]] = []
    for number in range(COOLING_FUNCTIONS):
        functions.append(eval(f"lambda n: [n * {number} for n in range(3)] + [dict(a=n, b={number}), '%d' % n]"))

    def cool(gap: int) -> None:
        deadline = time.perf_counter_ns() + gap
        while time.perf_counter_ns() < deadline:
            functions[choose(COOLING_FUNCTIONS)](7)
            place = choose(TOUCHED_BYTES - COOLING_BYTES)
            memory[place : place + COOLING_BYTES // 2] = memory[place + COOLING_BYTES // 2 : place + COOLING_BYTES]

    return cool


def main() -> None:
    """Prints what was measured."""
    part, seconds, directory = sys.argv[1:]
    document: dict[str, Any] = asdict(measure(PARTS[part], float(seconds), Path(directory)))
    json.dump(document, sys.stdout)


if __name__ == "__main__":
    main()
