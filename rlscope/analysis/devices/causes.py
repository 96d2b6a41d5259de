"""This file says why a device does nothing, by what a process does meanwhile."""

from enum import Enum

from rlscope.analysis.devices.swept import SweptIdle
from rlscope.model import (
    CATEGORIES,
    COMPILE,
    INFERENCE,
    NO_OPERATION,
    REWARD,
    STAGES,
    TOOL_CALL,
    WAIT_FOR_BATCH,
    Category,
    Stage,
)


class IdleCause(str, Enum):
    """This says why a device does nothing at an instant; the first that fits, from top to bottom, counts.

    While a trainer waits for a batch in `wait_for_batch`, its device is idle because the queue is empty. While it
    samples actions and is in Python between two launches, its device waits for Python.
    """

    EVALUATION = "evaluation"  # the phase, beside training
    COMPILE = "compile"  # the operation
    REWARD = "reward"  # the operation
    TOOL = "tool"  # the operation `tool_call`
    SIMULATION = "simulation"  # the rest of the stage, and simulators outside it
    SYNCHRONISATION = "synchronisation"  # the stage
    TAIL = "tail"  # of its samples: the rest of stage inference, in no stage `wait_for_batch` and waits
    QUEUE_EMPTY = "queue empty"  # the operation `wait_for_batch`; in no stage, a wait for another recorded process
    WAITING = "waiting"  # any other wait, also in no operation
    NO_CORE = "no core"  # a thread of the process was ready to run, and had none
    UNEXPLAINED = "unexplained"  # in no operation
    LAUNCH_BOUND = "launch-bound"  # CUDA calls, and the backend in an operation that gives the device work
    BACKEND = "backend"  # the backend in other operations: it computes on the CPU
    NATIVE = "native code"  # which no library's file knows
    PYTHON = "Python"


_OF_OPERATION = {
    COMPILE: IdleCause.COMPILE,
    REWARD: IdleCause.REWARD,
    TOOL_CALL: IdleCause.TOOL,
}
_OF_STAGE = {stage.value: IdleCause(stage.idle_cause) for stage in Stage if stage.idle_cause}
_OF_CATEGORY = {label: IdleCause(category.idle_cause) for label, category in CATEGORIES.items()}


def idle_cause(row: SweptIdle, gives_work: bool, waits_for_process: bool, evaluates: bool) -> IdleCause:
    """Return why a device did nothing.

    Args:
        row: What the process did that speaks for the device.
        gives_work: Whether its operation launched any work on the device in the run.
        waits_for_process: Whether it waits for another process that was recorded.
        evaluates: Whether it evaluates beside its training, rather than doing nothing else.
    """
    if row.is_evaluation and evaluates:
        return IdleCause.EVALUATION
    if row.operation in _OF_OPERATION:
        return _OF_OPERATION[row.operation]
    if row.stage in _OF_STAGE:
        return _OF_STAGE[row.stage]
    if row.category == Category.SIMULATOR.label:
        return IdleCause.SIMULATION
    waits, waits_for_batch = row.category == Category.WAIT.label, row.operation == WAIT_FOR_BATCH
    if row.is_in_tail and (row.stage == INFERENCE or (row.stage not in STAGES and (waits or waits_for_batch))):
        return IdleCause.TAIL
    if waits_for_batch:
        return IdleCause.QUEUE_EMPTY
    if waits:
        return IdleCause.QUEUE_EMPTY if waits_for_process and row.stage not in STAGES else IdleCause.WAITING
    if row.category == Category.NO_CORE.label:
        return IdleCause.NO_CORE
    if row.operation == NO_OPERATION:
        return IdleCause.UNEXPLAINED
    if row.category == Category.BACKEND.label and gives_work:
        return IdleCause.LAUNCH_BOUND
    return _OF_CATEGORY[row.category]
