"""This file defines the vocabulary: categories, stages, resources, operations, what is recorded. Standard library only.

A member is declared in one line: its value in traces and JSON, and a column of each attribute that its class names.
Programs that are measured import this, so nothing here is a dataclass: making one takes as long as six enumerations.
"""

from enum import Enum, IntEnum
from typing import NamedTuple, TypeVar

NS_PER_S = 1_000_000_000
NO_OPERATION = "(none)"
NO_PHASE = "(none)"
#: The phase in which a policy is tested, which is no part of training.
EVALUATION = "evaluation"
#: Other operations whose names say what their time is for; the last two write an answer, token by token.
REWARD, TOOL_CALL, WAIT_FOR_BATCH = "reward", "tool_call", "wait_for_batch"

#: The property of a process that says on which line autograd was told to detect anomalies: a file and a line.
ANOMALIES = "autograd_anomalies"
#: The one that says how long it compiled, in ns, and how long what had been compiled before, as `again_ns`.
COMPILING = "compiling"

Member = TypeVar("Member", bound=Enum)


def _declared(member: Member, value: object, columns: tuple[object, ...]) -> Member:
    """Give a member its value, and of each attribute that its class names the column at that place."""
    names = [*type(member).__annotations__]
    if len(columns) != len(names):
        wrong = f"lacks {', '.join(names[len(columns) :])}" if len(columns) < len(names) else "has too many columns"
        raise TypeError(f"{type(member).__name__} {value!r} {wrong}")
    member._value_ = value
    vars(member).update(zip(names, columns, strict=True))
    return member


class Name(str, Enum):
    """The base of enumerations of texts with columns."""

    def __new__(cls, name: str, *columns: object) -> "Name":
        """Make the member of a text with its columns."""
        return _declared(str.__new__(cls, name), name, columns)


class Category(IntEnum):
    """The layer of the stack that CPU time belongs to. Its number and label are in `src/core/format/vocabulary.h`, too.

    Legends and pages have categories in this order, figures stack them by label.

    Attributes:
        label: its value in tables and JSON; a CUDA call that waits for the device is `cuda` there.
        words: what figures call it.
        hatch: how figures fill it.
        light: its colour on a page.
        dark: the same on a dark page.
        letter: what fills a bar of `rlscope top` with it.
        published: the label that the published figures count it as; its own if they have it.
        bound: the `Bound` of time in it during which no device computes.
        idle_cause: the `IdleCause` of a device meanwhile, where operation, stage and samples do not say it.
    """

    label: str
    words: str
    hatch: str
    light: str
    dark: str
    letter: str
    published: str
    bound: str
    idle_cause: str

    PYTHON = 0, "python", "Python", "\\\\\\\\\\\\", "#142858", "#bfcfef", "p", "python", "python", "Python"
    SIMULATOR = 1, "simulator", "Simulator", "||||||", "#cf7c09", "#f4b258", "s", "simulator", "simulator", "simulation"
    BACKEND = 2, "backend", "Backend", "......", "#0e9d61", "#3cdca3", "b", "backend", "backend", "backend"
    CUDA = 3, "cuda", "CUDA", "//////", "#9b3ea5", "#ec28f9", "c", "cuda", "launches", "launch-bound"
    WAIT = 4, "wait", "Wait", "-----", "#656a73", "#7a7f8b", ".", "python", "waiting", "waiting"
    CUDA_WAIT = 5, *CUDA[1:]  # a CUDA call that waits for the device
    NATIVE = 6, "native", "Native code", "oooo", "#a82400", "#f6ea00", "m", "python", "native", "native code"
    # Published figures count it as the category in which the thread would run, which rows of the breakdown say.
    NO_CORE = 7, "no_core", "No core", "xxxxxx", "#1e46be", "#1e78aa", "n", "python", "no_core", "no core"

    def __new__(cls, number: int, *columns: object) -> "Category":
        """Make the member of a number with its columns."""
        return _declared(int.__new__(cls, number), number, columns)


#: Those that tables tell apart, by label.
CATEGORIES = {category.label: category for category in Category if category is not Category.CUDA_WAIT}
#: Those that calls may have.
CALL_CATEGORIES = {label: category for label, category in CATEGORIES.items() if category is not Category.NO_CORE}
#: The category of time of which correction took the CPU's part; whatever devices do alone is drawn like it.
GPU_ONLY = "gpu"


class Stage(Name):
    """The part of training that an instant belongs to; the first two where no operation around it is one of the others.

    In traces a stage is its place here, as in `src/core/format/vocabulary.h`. Figures have stages by name.

    Attributes:
        words: what figures call it.
        published: the stage that the published figures count it as; its own if they have it, "" if they leave it out.
        colour: the name of its colour on a page: a category, or GPU_ONLY.
        stems: how names begin that mean it.
        idle_cause: the `IdleCause` of a device meanwhile; "" where the category says it.
    """

    words: str
    published: str
    colour: str
    stems: tuple[str, ...]
    idle_cause: str

    NONE = "(none)", "No operation", "", "wait", (), ""
    TRAINING_LOOP = "training_loop", "Training loop", "backpropagation", "python", (), ""
    SIMULATION = "simulation", "Simulation", "simulation", "simulator", ("simul",), "simulation"
    INFERENCE = "inference", "Inference", "inference", "backend", ("infer",), ""
    BACKPROPAGATION = "backpropagation", "Backpropagation", "backpropagation", "cuda", ("backp", "backw"), ""
    # Weights on their way from those who train to those who act, and switching between both. That is because of the
    # update: until there was a stage for it, it counted there.
    SYNCHRONISATION = "synchronisation", "Synchronisation", "backpropagation", "gpu", (), "synchronisation"


class Purpose(Name):
    """This is what time is for, beside its stage.

    The first eight are in `src/core/format/vocabulary.h` too, in this order; all of these but the first have an
    operation of their name.

    Attributes:
        words: what tables and pages call it.
        light: its colour on a page.
        dark: the same on a dark page.
        leaves_stage: whether its operation is in none of the stages around it: a library calls it in their middle.
        interrupts: whether it is the purpose wherever it is open; of the others that are open the outermost is.
        shows_loop: whether the training loop has begun where its operation is in no other one.
        comes_anywhere: whether its operation may be open at any time of a program's life, so that time in it alone is
            in no operation.
    """

    words: str
    light: str
    dark: str
    leaves_stage: bool
    interrupts: bool
    shows_loop: bool
    comes_anywhere: bool

    TRAINING = "training", "training", "#0e9d61", "#3cdca3", False, False, True, False
    CALLBACK = "callback", "callbacks", "#9b3ea5", "#ec28f9", True, False, True, False
    CHECKPOINT = "checkpoint", "checkpoints", "#1e46be", "#1e78aa", True, False, False, False
    LOG = "log", "logging", "#cf7c09", "#f4b258", True, False, False, False
    RENDER = "render", "rendering", "#a4373a", "#f08a8d", False, False, True, False
    COMPILE = "compile", "compiling", "#142858", "#bfcfef", False, True, False, False
    IMPORT = "import", "imports", "#656a73", "#7a7f8b", True, True, False, True
    GARBAGE_COLLECTION = "garbage_collection", "garbage collection", "#7a5c00", "#d9b300", False, True, False, True
    EVALUATION = "evaluation", "evaluation", "#00788a", "#4fd3e3", False, False, True, False
    STARTING_UP = "starting_up", "starting up", "#8a8f98", "#9aa0ab", False, False, True, False
    AFTERWARDS = "afterwards", "afterwards", "#8a8f98", "#9aa0ab", False, False, True, False
    UNPLACED = "(none)", "in no loop", "#8a8f98", "#9aa0ab", False, False, True, False


#: In which a framework traces and compiles a function.
COMPILE: str = Purpose.COMPILE.value
#: In which a module is imported inside of another operation.
IMPORT: str = Purpose.IMPORT.value
#: In which libraries call what was given to them, save, write logs and draw.
CALLBACK: str = Purpose.CALLBACK.value
CHECKPOINT: str = Purpose.CHECKPOINT.value
LOG: str = Purpose.LOG.value
RENDER: str = Purpose.RENDER.value

#: Operations that do not show where the training loop is.
NOT_OF_LOOP: tuple[str, ...] = (NO_OPERATION, *(purpose.value for purpose in Purpose if not purpose.shows_loop))

TRAINING_LOOP: str = Stage.TRAINING_LOOP.value
SIMULATION: str = Stage.SIMULATION.value
INFERENCE: str = Stage.INFERENCE.value
BACKPROPAGATION: str = Stage.BACKPROPAGATION.value
SYNCHRONISATION: str = Stage.SYNCHRONISATION.value
#: Those that an operation of their name makes.
STAGES: tuple[str, ...] = tuple(stage.value for stage in Stage if stage not in (Stage.NONE, Stage.TRAINING_LOOP))
#: The stages that every training has. Published figures show these alone.
PUBLISHED_STAGES: tuple[str, ...] = tuple(stage.value for stage in Stage if stage.published == stage.value)


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


class Resource(Name):
    """The kind of hardware that worked at an instant, in the order in which figures stack them, the lowest first.

    Attributes:
        words: what figures call it.
        colour: its colour in figures.
        published: what the published figures count it as; its own if they have it, "" if they have no place for it.
    """

    words: str
    colour: str
    published: str

    CPU = "cpu", "CPU", "#fbb4ae", "cpu"
    BOTH = "cpu+gpu", "CPU + GPU", "#b3cde3", "cpu+gpu"
    GPU = "gpu", "GPU", "#ccebc5", "gpu"
    CPU_AND_COMMUNICATION = "cpu+communication", "CPU + communication", "#decbe4", ""
    COMMUNICATION = "communication", "Communication", "#fed9a6", ""  # devices only communicate with each other
    IDLE = "idle", "Idle", "#f2f2f2", "cpu"


class LoopPart(str, Enum):
    """The part of a run that time in no operation and no phase is in, as the sweep tells it."""

    BEFORE = "before"
    IN = "in"
    AFTER = "after"


class LifePart(Name):
    """A part of a process's wall time, in order of time but for evaluation; `words` say it in a sentence."""

    words: str

    STARTING_UP = "starting up", "before the training loop, as starting up"
    LOOP = "loop", "in the training loop"
    EVALUATION = "evaluation", "of evaluation"
    AFTERWARDS = "afterwards", "after it, as ending"
    UNPLACED = "(no loop)", "in no phase"  # nothing shows where the loop lies


class ClockExchange(NamedTuple):
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
