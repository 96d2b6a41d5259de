"""The vocabulary as types: categories, resources and stages. Standard library only."""

from enum import Enum, IntEnum

NO_OPERATION = "(none)"
NO_PHASE = "(none)"
STAGES = ("simulation", "inference", "backpropagation")
TRAINING_LOOP = "training_loop"


class Category(IntEnum):
    """The layer of the stack that CPU time belongs to; values as in `src/core/trace_format.h`."""

    PYTHON = 0
    SIMULATOR = 1
    BACKEND = 2
    CUDA = 3
    WAIT = 4

    @property
    def label(self) -> str:
        """The name in tables and figures."""
        return self.name.lower()


class NameKind(IntEnum):
    """What a name in the trace's catalog stands for."""

    OPERATION = 1
    PHASE = 2
    BOUNDARY = 3


class Resource(str, Enum):
    """Which kind of hardware worked at an instant."""

    CPU = "cpu"
    GPU = "gpu"
    BOTH = "cpu+gpu"
    IDLE = "idle"
