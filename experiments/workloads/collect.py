"""Measure how many steps per second one way to simulate, or to collect data, makes.

Measures a cell for each number of environments and of steps per call, one after the other, and writes a row for each
into OUTPUT/rows.jsonl. What is not to be timed, such as compiling, is done before. A cell that cannot be measured has a
row with the reason. `collect` and `simulate` keep no trajectory, only what makes each step needed.

    python collect.py --implementation XLA --quantity collect --environments 1 1024 --steps-per-call 1 100 --output DIR

`rlscope record -- python collect.py … --calls 100` shows where the time of a call goes: each number of steps per call
is a phase, each call an operation and an iteration, which is waited for before it is reported.
"""

import argparse
import contextlib
import gc
import itertools
import json
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cartpole.implementation import UnavailableError
from cartpole.policies import make_policy
from cartpole.table import IMPLEMENTATIONS, load
from option_types import whole
from throughput import Effort, Loop, repetitions_of, seconds_of, warm_up

#: What both quantities are called as operations.
OPERATIONS = {"collect": "collection", "simulate": "simulation"}
SEED = 0
#: The task that all implementations share; other simulators run on XLA alone, but for the robots of robots/.
OWN = "CartPole"
#: What a robot's name begins with, and where its implementations are.
ROBOT = ("Planar ", "Spatial ")
SETTLING_STEPS = 100
ROBOTS = {"CUDA": ("robots.cuda", "Cuda"), "XLA": ("robots.xla", "Xla")}


@dataclass(frozen=True)
class Cell:
    """This is what is measured: the columns of a row that say so."""

    implementation: str
    quantity: str
    simulator: str
    device: str
    environments: int
    steps_per_call: int
    state_factor: int
    compute_factor: int
    variant: str


def cells(arguments: argparse.Namespace) -> Iterator[Cell]:
    """Yield the cells in the order in which they are measured: short calls before long ones."""
    for variant, state_factor, compute_factor, environments, steps_per_call in itertools.product(
        arguments.variants,
        arguments.state_factor,
        arguments.compute_factor,
        sorted(set(arguments.environments)),
        sorted(set(arguments.steps_per_call)),
    ):
        yield Cell(
            arguments.implementation,
            arguments.quantity,
            arguments.simulator,
            arguments.device,
            environments,
            steps_per_call,
            state_factor,
            compute_factor,
            variant,
        )


def make_loop(cell: Cell) -> Loop:
    """Return the cell's environments and its kind of call.

    Raises:
        UnavailableError, MemoryError: it cannot be measured here.
        ValueError: there is no such thing.
    """
    given = (cell.environments, cell.steps_per_call, cell.device, SEED)
    options: dict[str, Any] = {"variant": cell.variant} if cell.implementation == "CUDA" else {}
    if cell.simulator.startswith(ROBOT):
        robots = load(cell.implementation, ROBOTS)(cell.simulator.partition(" ")[2], *given, **options)
        if cell.quantity == "collect":
            from robots.policy import make_gaussian

            robots.use(make_gaussian(robots.robot, SEED))
        return settled(Loop(getattr(robots, cell.quantity), robots.synchronize), cell.steps_per_call)
    if cell.simulator != OWN:
        from simulators import Simulation  # needs JAX, which not every implementation does

        simulation = Simulation(cell.simulator, *given)
        return settled(Loop(simulation.simulate, simulation.synchronize), cell.steps_per_call)
    if cell.implementation == "CUDA":
        options |= {"state_factor": cell.state_factor, "compute_factor": cell.compute_factor}
    implementation = load(cell.implementation)(*given, make_policy(SEED), **options)
    return Loop(getattr(implementation, cell.quantity), implementation.synchronize)


def settled(loop: Loop, steps_per_call: int) -> Loop:
    """Return a simulator's loop after so many steps that its environments are no longer alike: robots all fall at
    first, and a step costs less in the air than on the floor.
    """
    for _ in range(-(-SETTLING_STEPS // steps_per_call)):
        loop.call()
    loop.synchronize()
    return loop


#: Calls in a repetition, and the seconds of each repetition.
Measured = tuple[int, list[float]]


class TimedCalls:
    """Measures for some seconds per cell; what short calls took says which longer ones are not worth beginning."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._call_s: dict[Cell, float] = {}

    def measure(self, cell: Cell) -> Measured:
        """Measure a cell.

        Raises:
            TimeoutError: one call takes longer than all repetitions may.
        """
        self._check(self._expected_s(cell))
        loop = make_loop(cell)
        warm_up(loop)
        calls, seconds = repetitions_of(loop, self._effort)
        self._call_s[cell] = min(seconds) / calls
        self._check(self._call_s[cell])
        return calls, seconds

    def _expected_s(self, cell: Cell) -> float:
        """Return what one call takes at least, judging by those with fewer steps (but for what each call
        costs), and by those with fewer environments."""
        fewer_steps = (
            seconds * cell.steps_per_call / other.steps_per_call
            for other, seconds in self._call_s.items()
            if replace(other, steps_per_call=cell.steps_per_call) == cell
        )
        fewer_environments = (
            seconds for other, seconds in self._call_s.items() if replace(other, environments=cell.environments) == cell
        )
        return max(min(fewer_steps, default=0.0), max(fewer_environments, default=0.0))

    def _check(self, call_s: float) -> None:
        most = self._effort.most_seconds
        if call_s > most:
            raise TimeoutError(f"one call takes about {call_s:.3g} s, expected at most {most:g}; see --most-seconds")


class Recording:
    """Makes exactly so many calls per cell, in a phase named after its steps per call, for a run that is recorded."""

    def __init__(self, calls: int) -> None:
        import rlscope  # its compiled part is needed for this alone

        self._rlscope = rlscope
        self._calls = calls
        self._timesteps = 0

    def measure(self, cell: Cell) -> Measured:
        """Make the calls, each waited for: what is reported is complete."""
        with self._rlscope.phase("warm-up"):
            loop = make_loop(cell)
            warm_up(loop)
        with self._rlscope.phase(f"K = {cell.steps_per_call}"):
            return self._calls, [sum(self._one(loop, cell) for _ in range(self._calls))]

    def _one(self, loop: Loop, cell: Cell) -> float:
        with self._rlscope.operation(OPERATIONS[cell.quantity]):
            seconds = seconds_of(loop, 1)
        self._timesteps += cell.environments * cell.steps_per_call
        self._rlscope.report_progress(timesteps=self._timesteps)
        return seconds


def row(cell: Cell, measure: Callable[[Cell], Measured]) -> dict[str, Any]:
    """Return the cell measured, or why it could not be.

    Raises:
        ValueError: there is no such thing to measure.
    """
    try:
        calls, seconds = measure(cell)
    except (UnavailableError, MemoryError, TimeoutError) as error:
        return asdict(cell) | {"left_out": str(error)}
    steps = calls * cell.environments * cell.steps_per_call
    return asdict(cell) | {"steps": steps, "seconds": seconds, "calls": [calls] * len(seconds)}


def summary(row: dict[str, Any]) -> str:
    """Return a row as a line for people."""
    names = (row["implementation"], row["variant"], row["quantity"], row["simulator"])
    sizes = f"N = {row['environments']}, K = {row['steps_per_call']}"
    if (row["state_factor"], row["compute_factor"]) != (1, 1):
        sizes += f", S = {row['state_factor']}, C = {row['compute_factor']}"
    if "left_out" in row:
        found = f"left out: {row['left_out']}"
    else:
        rate = row["steps"] / statistics.median(row["seconds"])
        found = f"{rate:.3g} steps/s, {len(row['seconds'])} times {row['calls'][0]} calls"
    return f"{' '.join(name for name in names if name)}, {sizes}: {found}"


def positive(text: str) -> float:
    """Return a number of seconds, as an option."""
    with contextlib.suppress(ValueError):
        if 0 < (number := float(text)) < math.inf:
            return number
    raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, found {text!r}")


def make_parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--implementation", choices=IMPLEMENTATIONS, required=True)
    add("--quantity", choices=OPERATIONS, required=True, help="collect: with the policy; simulate: random actions")
    add(
        "--simulator",
        default=OWN,
        help="for XLA also 'gymnax ID'; 'Brax', 'MJX', 'Playground', 'MuJoCo' or 'MuJoCo-Warp NAME'; for CUDA, too, "
        "'Planar NAME' or 'Spatial Ant', to collect too (CartPole)",
    )
    add("--environments", type=whole, nargs="+", required=True, metavar="N")
    add("--steps-per-call", type=whole, nargs="+", required=True, metavar="K")
    add("--variants", nargs="+", metavar="VARIANT", help="for CUDA (default: accurate)")
    add("--state-factor", type=whole, nargs="+", default=[1], metavar="S", help="for CUDA: times the state's size")
    add("--compute-factor", type=whole, nargs="+", default=[1], metavar="C", help="for CUDA: times a step's arithmetic")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--seconds", type=positive, default=0.5, help="of a repetition, at least (default: 0.5)")
    add("--repetitions", type=whole, default=5, help="of each cell, if there is time (default: 5)")
    add("--most-seconds", type=positive, default=30, help="of a cell; longer calls are left out (default: 30)")
    add("--calls", type=whole, metavar="M", help="instead: exactly so many calls per cell, for a run that is recorded")
    add("--output", type=Path, required=True, help="a directory")
    return parser


def able(simulator: str) -> dict[str, list[str]]:
    """Return which implementations measure what of a simulator, by quantity."""
    if simulator == OWN:
        return {quantity: list(IMPLEMENTATIONS) for quantity in OPERATIONS}
    if simulator.startswith(ROBOT):
        return {"simulate": list(ROBOTS), "collect": ["CUDA"]}
    return {"simulate": ["XLA"]}


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the command line, if its options go together."""
    arguments = parser.parse_args()
    given = [arguments.variants is not None, arguments.state_factor != [1], arguments.compute_factor != [1]]
    if any(given) and arguments.implementation != "CUDA":
        parser.error(f"expected --implementation CUDA for variants and factors, found {arguments.implementation}")
    names = able(arguments.simulator)
    if arguments.implementation not in names.get(arguments.quantity, ()):
        expected = ", or ".join(f"{' or '.join(those)} to {quantity}" for quantity, those in names.items())
        parser.error(
            f"--simulator {arguments.simulator}: expected --implementation {expected}, found "
            f"{arguments.implementation} to {arguments.quantity}; only {OWN} has all"
        )
    if arguments.simulator.startswith(ROBOT) and any(given[1:]):
        parser.error(f"--simulator {arguments.simulator}: expected factors of 1, found others; only {OWN} has them")
    arguments.variants = arguments.variants or ["accurate" if arguments.implementation == "CUDA" else ""]
    return arguments


def main() -> None:
    """Measure as the command line says."""
    parser = make_parser()
    arguments = parse(parser)
    effort = Effort(arguments.seconds, arguments.repetitions, arguments.most_seconds)
    measure = Recording(arguments.calls).measure if arguments.calls else TimedCalls(effort).measure
    arguments.output.mkdir(parents=True, exist_ok=True)
    with (arguments.output / "rows.jsonl").open("w") as file:
        for cell in cells(arguments):
            try:
                measured = row(cell, measure)
            except ValueError as error:
                parser.error(str(error))
            print(json.dumps(measured), file=file, flush=True)
            print(summary(measured), file=sys.stderr, flush=True)
            gc.collect()  # captured graphs hold what they were captured from, and memory is found free before each cell


if __name__ == "__main__":
    main()
