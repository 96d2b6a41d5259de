"""Each instant of a process is bound by a cause, which rows of the breakdown define."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from rlscope.analysis.table_rows import BreakdownRow
from rlscope.analysis.tables.loop import Loops
from rlscope.model import COMPILE, STAGES, Category, Resource


class Cause(str, Enum):
    """A cause bounds an instant; the first that fits, from top to bottom, counts."""

    COMPILATION = "compilation"  # the operation `compile`
    GPU = "gpu"  # a device works, the CPU waits for it
    WAITING = "waiting"  # nothing works
    OVERLAP = "overlap"  # CPU and device work at once
    COMMUNICATION = "communication"  # devices only communicate with each other, the CPU waits for them
    SIMULATOR = "simulator"  # the CPU, and no device computes, as all below
    PYTHON = "python"
    BACKEND = "backend"
    LAUNCHES = "launches"  # CUDA calls


#: Operations that a change is about.
REWARD, DECODING = "reward", ("generate", "decode")
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
_OF_CATEGORY = {
    Category.SIMULATOR.label: Cause.SIMULATOR,
    Category.BACKEND.label: Cause.BACKEND,
    Category.CUDA.label: Cause.LAUNCHES,
}
_OF_RESOURCE = {
    Resource.GPU.value: Cause.GPU,
    Resource.IDLE.value: Cause.WAITING,
    Resource.BOTH.value: Cause.OVERLAP,
    Resource.COMMUNICATION.value: Cause.COMMUNICATION,
}


_TEXTS = {
    Cause.COMPILATION: "compilation",
    Cause.GPU: "the GPU",
    Cause.WAITING: "waiting",
    Cause.OVERLAP: "CPU and GPU at once",
    Cause.COMMUNICATION: "communication between devices",
    Cause.SIMULATOR: "the simulator",
    Cause.PYTHON: "Python",
    Cause.BACKEND: "the backend's CPU code",
    Cause.LAUNCHES: "CUDA calls",
}


#: What people call a layer.
CATEGORY_TEXTS = {"python": _TEXTS[Cause.PYTHON]} | {
    category: _TEXTS[cause] for category, cause in _OF_CATEGORY.items()
}


def cause_text(cause: Cause) -> str:
    """Return what people call a cause, as in "bound by the GPU"."""
    return _TEXTS[cause]


def cause_of(operation: str, category: str, resource: str) -> Cause:
    """Return the cause of a row of the breakdown."""
    if operation == COMPILE:
        return Cause.COMPILATION
    return _OF_RESOURCE.get(resource) or _OF_CATEGORY.get(category, Cause.PYTHON)


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
    left_out: Mapping[str, float]
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
