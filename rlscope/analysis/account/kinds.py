"""Each instant of a process is bound by something, which rows of the breakdown define."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rlscope.analysis.table_rows import BreakdownRow
from rlscope.analysis.tables.loop import Loops
from rlscope.model import CATEGORIES, COMPILE, IMPORT, Category, LifePart, Name, Resource


class Bound(Name):
    """An instant is bound by the first of these that fits, from top to bottom."""

    COMPILATION = "compilation"  # the operation `compile`
    IMPORT = "import"  # the operation `import`
    GPU = "gpu"  # a device works, the CPU waits for it
    NO_CORE = "no_core"  # nothing works, and a thread is ready to run
    WAITING = "waiting"  # nothing works
    OVERLAP = "overlap"  # CPU and device at once
    COMMUNICATION = "communication"  # devices only communicate with each other, the CPU waits for them
    SIMULATOR = "simulator"  # the CPU, and no device computes, as all below
    PYTHON = "python"
    NATIVE = "native"  # code that no library's file knows
    BACKEND = "backend"
    LAUNCHES = "launches"  # CUDA calls


class Kind(NamedTuple):
    """Time of one kind: of a stage and a category, as in the breakdown, and a bound."""

    stage: str
    category: str
    bound: Bound


#: Seconds by kind of time.
Mix = Mapping[Kind, float]
#: Of a layer in which the CPU is while no device computes.
_OF_CATEGORY = {label: Bound(category.bound) for label, category in CATEGORIES.items()}
_OF_RESOURCE = {
    Resource.GPU.value: Bound.GPU,
    Resource.IDLE.value: Bound.WAITING,
    Resource.BOTH.value: Bound.OVERLAP,
    Resource.COMMUNICATION.value: Bound.COMMUNICATION,
}


def bound_of(operation: str, category: str, resource: str) -> Bound:
    """Return the bound of a row of the breakdown."""
    if operation == COMPILE:
        return Bound.COMPILATION
    if operation == IMPORT:
        return Bound.IMPORT
    if category == Category.NO_CORE.label and resource == Resource.IDLE.value:
        return Bound.NO_CORE
    return _OF_RESOURCE.get(resource) or _OF_CATEGORY[category]


def waiting_s(mix: Mix) -> float:
    """Return a mix's seconds that are bound by waiting."""
    return sum(seconds for kind, seconds in mix.items() if kind.bound is Bound.WAITING)


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
        kind = Kind(row.stage, row.category, bound_of(row.operation, row.category, row.resource))
        mix[kind] = mix.get(kind, 0.0) + (seconds * loops.share(row) if row.process in loops.processes else seconds)
    return {
        process: ProcessTime(mix, loops.left_out.get(process, {}) if has_loop else {}, has_loop)
        for process, mix in mixes.items()
        for has_loop in (process in loops.processes,)
    }
