"""This file forecasts what a change brings to a recorded training: a factor with an interval of 90 %."""

from __future__ import annotations

import math
from typing import NamedTuple

from rlscope.analysis.rows import Row
from rlscope.analysis.run_tables import RunTables
from rlscope.errors import UsageError
from rlscope.forecast.change import ENVIRONMENTS, PROCESSES, Change, Model
from rlscope.forecast.errors import ERRORS
from rlscope.forecast.models import (
    Workers,
    collecting_by_stage,
    part_of,
    saved_by_batch,
    saved_by_batch_of_two,
    saved_by_graph,
    saved_by_less,
    saved_in_processes,
    workers_of,
)
from rlscope.model import EVALUATION, NS_PER_S, SIMULATION

#: So many standard errors of a normal distribution are on either side of its mean in 90 % of the cases.
NORMAL_90 = 1.645
#: A number of environments is that of timesteps by steps, but for steps of the first and the last iteration.
_OFF = 0.1
PROCESSOR, WALL = "processor time", "wall time"


class ForecastRow(Row):
    """A forecast of one change.

    Attributes:
        change: The change, as it was asked for: `simulation=2x`.
        model: What reckoned it: `faster`, `rarer`, `batch`, `one process`, `processes` or `graph`.
        clock: Of what the factor is: `processor time` of all processes in the training loop, or `wall time` of the
            loop of the process that paces the run.
        loop_s: That time, as recorded, without what recording added where that is known.
        saved_s: How much of it the change saves; negative if it costs more.
        factor: How many times as fast the loop will be.
        low: The lower end of its interval of 90 %.
        high: The upper end.
        error: The interval is of what is gained, `factor` - 1, divided by this and times this; where the change costs
            more, of what it costs, 1 / `factor` - 1.
        evidence: The rows of which table it was reckoned from.
    """

    change: str
    model: str
    clock: str
    loop_s: float
    saved_s: float
    factor: float
    low: float
    high: float
    error: float
    evidence: str


class Saving(NamedTuple):
    """This is what a model says.

    Attributes:
        clock: Of what the seconds are.
        loop_s: What the loop takes.
        saved_s: What the change saves of it.
        evidence: The rows of which table say it.
        half_width: By how much, to either side, the logarithm of the gain is uncertain by these rows in 90 % of cases.
    """

    clock: str
    loop_s: float
    saved_s: float
    evidence: str
    half_width: float = 0.0


def forecast_of(tables: RunTables, change: Change, other: RunTables | None = None) -> ForecastRow:
    """Return what a change brings to a run.

    Args:
        tables: The run.
        change: The change.
        other: The same training with another number of environments, where that is known.

    Raises:
        UsageError: The recording does not tell; says what is missing.
    """
    if other is not None and change.model is Model.BATCH:
        saving = _of_two_batches(tables, change, other)
    else:
        saving = _MODELS[change.model](tables, change)
    if saving.saved_s >= saving.loop_s:
        raise UsageError(
            f"{change.text}: it would save all of the {saving.clock} that was recorded of the training, so nothing "
            "can be said of what is left; record a run in which there is more beside it"
        )
    factor = saving.loop_s / (saving.loop_s - saving.saved_s)
    error = math.exp(math.hypot(saving.half_width, math.log(ERRORS[change.model])))
    return ForecastRow(
        change.text, change.model.value, saving.clock, saving.loop_s, saving.saved_s, factor,
        *interval_of(factor, error), error, saving.evidence,
    )  # fmt: skip


def interval_of(factor: float, error: float) -> tuple[float, float]:
    """Return the ends of the interval of a factor whose gain, or whose cost, may be `error` times as large or small.

    The gain is what is saved for each second that is left, so that no end is beyond what is possible: of a gain of 1.0,
    twice as fast, 0.8 to 1.25 with an error of 1.25, and 1.8 to 2.25 times as fast.
    """
    if factor >= 1:
        return 1 + (factor - 1) / error, 1 + (factor - 1) * error
    cost = 1 / factor - 1
    return 1 / (1 + cost * error), 1 / (1 + cost / error)


def _of_part(tables: RunTables, change: Change) -> Saving:
    part = part_of(change.name, tables.loop_times, tables.cpu_times, tables.functions)
    if part is None:
        raise UsageError(
            f"{change.text}: {change.name!r} was expected to be a purpose, a stage, an operation or a function of the "
            "recording, but nothing there has this name; `rlscope analyze DIR --by operation` and `--by line` list them"
        )
    if not part.seconds > 0:
        raise UsageError(
            f"{change.text}: no processor time of {change.name!r} is in the training loop that was recorded"
        )
    saved_s = saved_by_less(part.seconds, change.number)
    return Saving(PROCESSOR, _loop_s(tables), saved_s, part.evidence, NORMAL_90 * part.sampling_error)


def _of_batch(tables: RunTables, change: Change) -> Saving:
    saved_s = saved_by_batch(tables.loop_times, _environments(tables, change), int(change.number))
    return Saving(PROCESSOR, _loop_s(tables), saved_s, "loop_times: purpose=training")


def _of_two_batches(tables: RunTables, change: Change, other: RunTables) -> Saving:
    of, of_other = _environments(tables, change), _environments(other, change._replace(of=None))
    if of == of_other:
        raise UsageError(
            f"{change.text}: two recordings with different numbers of environments were expected, found {of} in both"
        )
    timesteps, of_timestep = of * _steps(tables), 1 / (of_other * _steps(other))
    first, second = collecting_by_stage(tables.loop_times), collecting_by_stage(other.loop_times)
    saved_s = timesteps * saved_by_batch_of_two(
        {stage: seconds / timesteps for stage, seconds in first.items()}, of,
        {stage: seconds * of_timestep for stage, seconds in second.items()}, of_other,
        int(change.number),
    )  # fmt: skip
    return Saving(PROCESSOR, _loop_s(tables), saved_s, "loop_times of both")


def _environments(tables: RunTables, change: Change) -> int:
    """Return how many environments a batch of the recording holds: as the change says, else timesteps by steps."""
    if change.of is not None:
        return change.of
    steps = _steps(tables)
    found = tables.timesteps / steps if tables.timesteps and steps else 0.0
    if round(found) < 1 or abs(found / round(found) - 1) > _OFF:
        raise UsageError(
            f"{change.text}: the timesteps of the recording were expected to be a whole number times its steps of "
            f"environments, found {tables.timesteps} and {steps}; say how many are in a batch now, such as "
            f"{ENVIRONMENTS}=8:{int(change.number)} for from 8 to {int(change.number)}"
        )
    return round(found)


def _steps(tables: RunTables) -> int:
    """Return how often the process that paces the run stepped its environment, or a batch of them, in training."""
    pacing = tables.path.process if tables.path is not None else ""
    rows = (row for row in tables.cpu_times if row.process == pacing and row.phase != EVALUATION)
    return sum(row.count for row in rows if row.operation == SIMULATION)


def _in_one_process(tables: RunTables, change: Change) -> Saving:
    workers = _workers(tables)
    if workers is None:
        raise UsageError(
            f"{change.text}: processes that step environments for the one that paces the run were expected, found "
            "none; record the training with its environments in processes"
        )
    evidence = "loop_times: stage=simulation; of workers stage=(none)"
    return Saving(PROCESSOR, _loop_s(tables), workers.message_s, evidence)


def _in_processes(tables: RunTables, change: Change) -> Saving:
    workers, steps = _workers(tables), _steps(tables)
    if workers is not None or not steps:
        found = f"{workers.number} processes that do" if workers is not None else "no step of an environment"
        raise UsageError(
            f"{change.text}: steps of environments in the process that paces the run were expected, found {found}; "
            f"record the training with its environments in one process, or ask for {PROCESSES}=1"
        )
    if not tables.message_ns:
        raise UsageError(
            f"{change.text}: what a message costs on this machine was expected in the calibration, but the trace has "
            "none that says it; run `rlscope calibrate` where it was recorded"
        )
    saved_s = saved_in_processes(steps, int(change.number), tables.message_ns)
    return Saving(PROCESSOR, _loop_s(tables), saved_s, "cpu_times: operation=simulation; the calibration's messages")


def _workers(tables: RunTables) -> Workers | None:
    if tables.path is None:
        return None
    names = [name for group in tables.path.followed for name in group.names]
    return workers_of(tables.loop_times, tables.path.process, names)


def _of_graph(tables: RunTables, change: Change) -> Saving:
    """Return the middle between what a graph of the same kernels saves, and one of all that leads to them."""
    pacing = tables.path.process if tables.path is not None else ""
    found = saved_by_graph(tables.device_idle, tables.launches, pacing)
    if found is None or tables.life is None:
        raise UsageError(
            f"{change.text}: operations with 100 launches of kernels or more, for which a GPU waited, were expected in "
            "the process that paces the run, but it has none, so a graph has nothing to replace"
        )
    loop_s = (tables.life.loop_ns + tables.life.evaluation_ns) / NS_PER_S
    if found.most_s >= loop_s:
        return Saving(WALL, loop_s, found.most_s, "device_idle; launches")
    gains = [seconds / (loop_s - seconds) for seconds in found]
    gain = math.sqrt(math.prod(gains))
    half_width = math.log(gains[1] / gains[0]) / 2
    return Saving(WALL, loop_s, loop_s * gain / (1 + gain), "device_idle; launches", half_width)


def _loop_s(tables: RunTables) -> float:
    return sum(row.cpu_s for row in tables.loop_times)


_MODELS = {
    Model.FASTER: _of_part,
    Model.RARER: _of_part,
    Model.BATCH: _of_batch,
    Model.ONE_PROCESS: _in_one_process,
    Model.PROCESSES: _in_processes,
    Model.GRAPH: _of_graph,
}
