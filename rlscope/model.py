"""This file defines the vocabulary: categories, resources, stages, what is recorded. Standard library only."""

from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property

NS_PER_S = 1_000_000_000
NO_OPERATION = "(none)"
NO_PHASE = "(none)"
#: The stages that every training has. Published figures show these alone.
PUBLISHED_STAGES = ("simulation", "inference", "backpropagation")
#: Weights on their way from those who train to those who act, and switching between both.
SYNCHRONISATION = "synchronisation"
STAGES = (*PUBLISHED_STAGES, SYNCHRONISATION)
TRAINING_LOOP = "training_loop"
#: The phase in which a policy is tested, which is no part of training.
EVALUATION = "evaluation"
#: The operation in which a framework traces and compiles a function.
COMPILE = "compile"


class Category(IntEnum):
    """The layer of the stack that CPU time belongs to; values as in `src/core/format/trace_format.h`."""

    PYTHON = 0
    SIMULATOR = 1
    BACKEND = 2
    CUDA = 3
    WAIT = 4
    CUDA_WAIT = 5  # a CUDA call that waits for the device

    @cached_property
    def label(self) -> str:
        """Return the name in tables and figures; a CUDA call that waits is `cuda` there."""
        return "cuda" if self is Category.CUDA_WAIT else self.name.lower()


class NameKind(IntEnum):
    """This is what a name in the trace's catalog stands for."""

    OPERATION = 1
    PHASE = 2
    BOUNDARY = 3
    DEVICE_WORK = 4


class DeviceWork(IntEnum):
    """This is what a record of a device's queue, or of the host's, is of.

    Values are as in `src/core/format/trace_format.h`.
    """

    KERNEL = 1
    COPY = 2
    MEMSET = 3
    CUPTI_WORK = 4
    GAP = 5


class GpuAttribution(str, Enum):
    """This says which operation is charged while a device works and the process waits."""

    LAUNCH = "launch"  # the operation that launched the work
    COINCIDENT = "coincident"  # the operation that is open


class Resource(str, Enum):
    """This says which kind of hardware worked at an instant."""

    CPU = "cpu"
    GPU = "gpu"
    BOTH = "cpu+gpu"
    COMMUNICATION = "communication"  # devices do nothing but communicate with each other
    CPU_AND_COMMUNICATION = "cpu+communication"
    IDLE = "idle"


@dataclass(frozen=True)
class ClockExchange:
    """This is what a process learnt by asking the machine of `rlscope record` for the time once; both read
    CLOCK_MONOTONIC.

    Attributes:
        monotonic_ns: the process's own clock, in the middle of the exchange.
        offset_ns: how far the other clock was ahead of it then.
        error_ns: the most that the offset is wrong by.
    """

    monotonic_ns: int
    offset_ns: int
    error_ns: int
