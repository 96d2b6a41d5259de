"""The models of forecasts: how many seconds of a training loop a change saves, from the rows of its tables.

Each is reckoned in processor time of all processes, but that of a CUDA graph, which is in wall time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rlscope.analysis.correction.costs import Bounds
from rlscope.analysis.devices.idle import IdleCause
from rlscope.analysis.devices.rows import DeviceIdleRow, LaunchRow
from rlscope.analysis.lines.functions import FunctionRow
from rlscope.analysis.rows import sums
from rlscope.analysis.table_rows import CpuTimeRow
from rlscope.analysis.tables.loop_times import LoopTimeRow
from rlscope.model import BACKPROPAGATION, NO_OPERATION, NS_PER_S, SIMULATION, Purpose

#: Time in no operation and no phase outside the loop.
_AROUND = (Purpose.STARTING_UP.value, Purpose.AFTERWARDS.value)
#: An environment's step costs the same in any batch; so does an update, of the same number of timesteps.
_OF_TIMESTEPS = (SIMULATION, BACKPROPAGATION)


class Part(NamedTuple):
    """A part of the training loop that a change is about.

    Attributes:
        seconds: Its processor time.
        stacks: By how many stacks that is known; None where each begin and end was recorded.
        seen: In how many stacks it might have been.
        evidence: The rows of which table say it.
    """

    seconds: float
    stacks: int | None
    seen: int
    evidence: str

    @property
    def sampling_error(self) -> float:
        """Return the standard error of the logarithm of this part divided by the rest of the loop.

        It is that of a binomial share by the delta method, 1/sqrt(n p (1 - p)), where p is the share of n stacks. Half
        a stack more of both keeps it finite where few, or nearly all, were in the part (Haldane and Anscombe).
        """
        if self.stacks is None:
            return 0.0
        return math.sqrt(1 / (self.stacks + 0.5) + 1 / (self.seen - self.stacks + 0.5))


def part_of(
    name: str,
    loop: Iterable[LoopTimeRow],
    operations: Iterable[CpuTimeRow],
    functions: Iterable[FunctionRow],
) -> Part | None:
    """Return the part that a name means: a purpose, a stage, an operation, else a function; None if nothing has it.

    An operation is without those inside it; a function with all that it calls. A function is named as it is qualified,
    `EvalCallback._on_step`, with its file where several have the name: `copy.py deepcopy`.
    """
    rows = [*loop]
    for column in ("purpose", "stage"):
        mine = [row for row in rows if getattr(row, column) == name]
        if mine:
            return Part(sum(row.cpu_s for row in mine), None, 0, f"loop_times: {column}={name}")
    found = [row for row in operations if row.operation == name]
    if found:
        return Part(sum(row.cpu_s for row in found), None, 0, f"cpu_times: operation={name}")
    in_loop = [row for row in functions if row.purpose not in _AROUND]
    passing = [row for row in in_loop if name in (row.function, f"{row.file} {row.function}")]
    if not passing:
        return None
    # What all stacks of a process pass is the outermost function of each stage and purpose.
    most: dict[tuple[str, str, str], int] = {}
    for row in in_loop:
        key = (row.process, row.stage, row.purpose)
        most[key] = max(most.get(key, 0), row.stacks)
    stacks, seen = sum(row.stacks for row in passing), sum(most.values())
    return Part(sum(row.cpu_s for row in passing), stacks, seen, f"functions: function={name}")


def saved_by_less(seconds: float, times: float) -> float:
    """Return what is saved where a part becomes so many times as fast, or is done each so manieth time."""
    return seconds * (1 - 1 / times)


def saved_by_batch(loop: Iterable[LoopTimeRow], of: int, to: int) -> float:
    """Return what is saved for the same timesteps by a batch of `to` environments in the place of `of`.

    What is done for a batch, as inference and what has no stage, is done `of / to` as often, and takes as long.
    Simulation, updates, and what is not done for training, stay.
    """
    per_batch_s = sum(
        row.cpu_s for row in loop if row.purpose == Purpose.TRAINING.value and row.stage not in _OF_TIMESTEPS
    )
    return per_batch_s * (1 - of / to)


def saved_by_batch_of_two(
    first: Mapping[str, float], of: int, second: Mapping[str, float], of_second: int, to: int
) -> float:
    """Return the same from two recordings of batches: a stage takes a + b n for a batch of n, a/n + b for a timestep.

    Args:
        first: Seconds for a timestep, by stage, with `of` environments.
        of: How many environments the first recording has.
        second: The same with `of_second` environments.
        of_second: How many the second one has.
        to: How many there will be.

    Returns:
        Seconds for a timestep that are saved against the first recording.
    """
    saved = 0.0
    for stage in {*first, *second}:
        whole_s = first.get(stage, 0.0)
        per_batch_s = (whole_s - second.get(stage, 0.0)) / (1 / of - 1 / of_second)
        # Neither a batch nor an environment in it takes less than nothing: what says so is that recordings scatter.
        saved += min(max(per_batch_s, 0.0), of * whole_s) * (1 / of - 1 / to)
    return saved


def collecting_by_stage(loop: Iterable[LoopTimeRow]) -> dict[str, float]:
    """Return the processor time of training by stage, without updates: what depends on how timesteps are collected."""
    is_collecting = (row for row in loop if row.purpose == Purpose.TRAINING.value and row.stage != BACKPROPAGATION)
    return sums((row.stage, row.cpu_s) for row in is_collecting)


class Graph(NamedTuple):
    """The wall time in which a device waited for launches that a CUDA graph replaces.

    Attributes:
        least_s: While the process was in the backend or in CUDA calls: a graph of the same kernels has none of it.
        most_s: With what it was in Python meanwhile, `graph_saves_s`: a graph of the whole operation has none of that.
    """

    least_s: float
    most_s: float


def saved_by_graph(idle: Iterable[DeviceIdleRow], launches: Iterable[LaunchRow], pacing: str) -> Graph | None:
    """Return what graphs of the operations save that launch many kernels; None if the process launches no such."""
    saves_s = {(row.device, row.stage, row.operation): row.graph_saves_s for row in launches if row.process == pacing}
    mine = (row for row in idle if row.process == pacing and (row.device, row.stage, row.operation) in saves_s)
    least_s = sum(row.seconds for row in mine if row.cause == IdleCause.LAUNCH_BOUND)
    return Graph(least_s, sum(saves_s.values())) if least_s > 0 else None


class Workers(NamedTuple):
    """The processes that step environments for the one that paces the run.

    Attributes:
        number: How many there are.
        message_s: Processor time of messages: of the process that asks in simulation, of the others in no stage.
    """

    number: int
    message_s: float


def workers_of(loop: Iterable[LoopTimeRow], pacing: str, followed: Iterable[str]) -> Workers | None:
    """Return the processes of those that are waited for which step environments; None if none does."""
    rows = [*loop]
    names = {row.process for row in rows if row.stage == SIMULATION} & {*followed} - {pacing}
    asking_s = sum(row.cpu_s for row in rows if row.process == pacing and row.stage == SIMULATION)
    if not names or not asking_s:
        return None
    answering_s = sum(row.cpu_s for row in rows if row.process in names and row.stage == NO_OPERATION)
    return Workers(len(names), asking_s + answering_s)


def saved_in_processes(steps: int, processes: int, message_ns: Mapping[int, Bounds]) -> float:
    """Return what is saved, less than nothing, by environments in so many processes, each asked for so many steps.

    The price of a message is that which was calibrated with the nearest number of processes, by their ratio.
    """
    nearest = min(message_ns, key=lambda number: abs(math.log(number / processes)))
    return -steps * processes * message_ns[nearest].mean / NS_PER_S
