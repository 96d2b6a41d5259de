"""Each instant of a process is bound by a cause, which rows of the breakdown define."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rlscope.analysis.table_rows import BreakdownRow
from rlscope.analysis.tables.loop import Loops
from rlscope.model import CATEGORIES, COMPILE, DECODING, IMPORT, REWARD, STAGES, Category, LifePart, Name, Resource


class Cause(Name):
    """A cause bounds an instant; the first that fits, from top to bottom, counts.

    Attributes:
        words: what people call it, as in "bound by the GPU".
        colour: the name of its colour on a page: that of the layer that it is of.
    """

    words: str
    colour: str

    COMPILATION = "compilation", "compilation", "backend"  # the operation `compile`
    IMPORT = "import", "importing", "python"  # the operation `import`
    GPU = "gpu", "the GPU", "gpu"  # a device works, the CPU waits for it
    NO_CORE = "no_core", "waiting for a core", "no_core"  # nothing works, and a thread is ready to run
    WAITING = "waiting", "waiting", "wait"  # nothing works
    OVERLAP = "overlap", "CPU and GPU at once", "gpu"
    # Devices only communicate with each other, the CPU waits for them.
    COMMUNICATION = "communication", "communication between devices", "wait"
    SIMULATOR = "simulator", "the simulator", "simulator"  # the CPU, and no device computes, as all below
    PYTHON = "python", "Python", "python"
    NATIVE = "native", "native code that no library's file knows", "native"
    BACKEND = "backend", "the backend's CPU code", "backend"
    LAUNCHES = "launches", "CUDA calls", "cuda"


#: Operations that a change is about.
PARTS = frozenset((REWARD, *DECODING))


class Kind(NamedTuple):
    """Time of one kind: of a stage and a category (as in the breakdown), a cause, and the operation if it is of PARTS.

    Two seconds of Python in a stage are one kind, unless one of them is in the operation `reward` or so.
    """

    stage: str
    category: str
    cause: Cause
    part: str = ""

    @property
    def is_in_no_stage(self) -> bool:
        """Tell whether no change to a stage counts it; a simulator's time is simulation in any stage."""
        return self.stage not in STAGES and self.category != Category.SIMULATOR.label


#: Seconds by kind of time.
Mix = Mapping[Kind, float]
#: A smaller cause does not stand out: without it the run would be at most 1.5 times as fast.
STANDS_OUT = 1 / 3
#: Share of a whole that sums of many floats may be off by.
NOTHING = 1e-9
#: Of a layer in which the CPU is while no device computes.
OF_CATEGORY = {label: Cause(category.cause) for label, category in CATEGORIES.items()}
_OF_RESOURCE = {
    Resource.GPU.value: Cause.GPU,
    Resource.IDLE.value: Cause.WAITING,
    Resource.BOTH.value: Cause.OVERLAP,
    Resource.COMMUNICATION.value: Cause.COMMUNICATION,
}


def cause_of(operation: str, category: str, resource: str) -> Cause:
    """Return the cause of a row of the breakdown."""
    if operation == COMPILE:
        return Cause.COMPILATION
    if operation == IMPORT:
        return Cause.IMPORT
    if category == Category.NO_CORE.label and resource == Resource.IDLE.value:
        return Cause.NO_CORE
    return _OF_RESOURCE.get(resource) or OF_CATEGORY[category]


def waiting_s(mix: Mix) -> float:
    """Return a mix's seconds of cause `waiting`."""
    return sum(seconds for kind, seconds in mix.items() if kind.cause is Cause.WAITING)


@dataclass(frozen=True)
class CauseTime:
    """The time that a cause has.

    Attributes:
        cause: the cause.
        seconds: the time that it has.
        share: its share of the whole, from 0 to 1.
        stage: the stage in which most of it was.
        stage_s: the seconds in that stage.
    """

    cause: Cause
    seconds: float
    share: float
    stage: str
    stage_s: float


def cause_times(mix: Mix) -> tuple[CauseTime, ...]:
    """Return the seconds of each cause, the largest first."""
    total_s = sum(mix.values())
    stages: dict[Cause, dict[str, float]] = {}
    for kind, seconds in mix.items():
        if seconds > NOTHING * total_s:
            of_cause = stages.setdefault(kind.cause, {})
            of_cause[kind.stage] = of_cause.get(kind.stage, 0.0) + seconds
    found = []
    for cause, of_cause in stages.items():
        seconds = sum(of_cause.values())
        stage = max(of_cause, key=lambda name: of_cause[name])
        found.append(CauseTime(cause, seconds, seconds / total_s, stage, of_cause[stage]))
    return tuple(sorted(found, key=lambda each: -each.seconds))


class ProcessTime(NamedTuple):
    """The time of a process that counts.

    Attributes:
        mix: its seconds in operations and phases, and between them in its training loop; all of them if nothing shows
            where that is.
        left_out: the others by part, as in `Loops.left_out`.
        has_loop: whether operations, phases or reports of progress show where it is.
    """

    mix: Mix
    left_out: Mapping[LifePart, float]
    has_loop: bool


def times_of_processes(breakdown: Iterable[BreakdownRow], loops: Loops) -> dict[str, ProcessTime]:
    """Return what counts of each process, corrected where the breakdown is."""
    mixes: dict[str, dict[Kind, float]] = {}
    for row in breakdown:
        seconds = row.seconds if row.corrected_seconds is None else row.corrected_seconds
        mix = mixes.setdefault(row.process, {})
        cause, part = (
            cause_of(row.operation, row.category, row.resource),
            row.operation if row.operation in PARTS else "",
        )
        kind = Kind(row.stage, row.category, cause, part)
        mix[kind] = mix.get(kind, 0.0) + (seconds * loops.share(row) if row.process in loops.processes else seconds)
    return {
        process: ProcessTime(mix, loops.left_out.get(process, {}) if has_loop else {}, has_loop)
        for process, mix in mixes.items()
        for has_loop in (process in loops.processes,)
    }
