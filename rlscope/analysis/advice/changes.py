"""Changes that could make a run faster, and what each could save at most on its owner path."""

from collections.abc import Iterable
from dataclasses import dataclass

from rlscope.analysis.advice.causes import NOTHING, Cause, Kind
from rlscope.analysis.advice.owner_path import OwnerPath
from rlscope.analysis.advice.removal import Removal
from rlscope.analysis.advice.rollouts import savings_of_rollouts
from rlscope.analysis.devices.rows import DeviceIdleRow, GpuOperationRow
from rlscope.analysis.tables.samples import SampleTailRow
from rlscope.model import BACKPROPAGATION, INFERENCE, NO_OPERATION, SIMULATION, Category

#: Changes that have a simulation elsewhere. Of one process alone they save the same, wherever that is.
ELSEWHERE = frozenset(("step environments asynchronously", "move the simulation to the device"))
CORES = "give each thread a core: fewer threads and processes, or more cores"
ON_DEVICE = (Cause.GPU, Cause.OVERLAP)
ON_CPU = (Cause.PYTHON, Cause.NATIVE, Cause.BACKEND, Cause.LAUNCHES, Cause.OVERLAP)


@dataclass(frozen=True)
class Change:
    """A change that somebody could make to a run.

    Attributes:
        name: the change's name.
        stage: the stage that it shortens; `(none)`: any.
        assumption: the assumption under which it saves that much.
        saving_s: the seconds of the path that it saves at most.
        speedup: total / (total - saving), at most; None if nothing else is on the path.
    """

    name: str
    stage: str
    assumption: str
    saving_s: float
    speedup: float | None


def changes_of(
    path: OwnerPath,
    gpu_operations: Iterable[GpuOperationRow],
    tails: Iterable[SampleTailRow],
    device_idle: Iterable[DeviceIdleRow],
) -> tuple[Change, ...]:
    """Return the changes to stages that have time on the path, and to the use of cores, the one that saves most first.

    Nothing is known of changes to other stages. There are no changes where threads work beside each other: a second
    counts for one of them, so what the others do may save more or nothing.

    Args:
        path: of the run.
        gpu_operations: of its analysis: how many kernels were launched.
        tails: of its analysis: how long the last samples of an iteration took.
        device_idle: of its analysis: why devices did nothing.
    """
    if path.works_beside:
        return ()
    inference, simulation = Removal(path, _is_inference, INFERENCE), Removal(path, _is_simulation, SIMULATION)
    found = (
        _change(path, "batch inference", INFERENCE, "inference took no time", inference.saved_s()),
        _change(
            path,
            "step environments asynchronously",
            SIMULATION,
            "nothing waited for a simulation",
            _asynchronous_s(path, simulation),
        ),
        _change(
            path,
            "move the simulation to the device",
            SIMULATION,
            "simulation took no time",
            simulation.saved_s(),
        ),
        _change(path, "compile the update", BACKPROPAGATION, "the CPU took no time for the update", _compiled_s(path)),
        *(_change(path, *saving) for saving in savings_of_rollouts(path, gpu_operations, tails, device_idle)),
    )
    without_core_s = Removal(path, _has_no_core, None).saved_s()
    if without_core_s > 0:
        found += (_change(path, CORES, NO_OPERATION, "no thread waited for a core", without_core_s),)
    with_time = {kind.stage for kind, seconds in path.mix.items() if seconds > 0}
    with_time |= {change.stage for change in found if change.saving_s > 0}
    if any(_is_simulation(kind) and seconds > 0 for kind, seconds in path.mix.items()):
        with_time.add(SIMULATION)
    known = [change for change in found if change.stage in with_time]
    return tuple(sorted(known, key=lambda change: -change.saving_s))


def _change(path: OwnerPath, name: str, stage: str, assumption: str, saving_s: float) -> Change:
    saving_s = min(saving_s + path.hidden_s, path.total_s) if saving_s > 0 else 0.0
    rest_s = path.total_s - saving_s
    speedup = path.total_s / rest_s if rest_s > NOTHING * path.total_s else None
    return Change(name, stage, assumption, saving_s, speedup)


def _is_inference(kind: Kind) -> bool:
    return kind.stage == INFERENCE


def _is_simulation(kind: Kind) -> bool:
    return kind.stage == SIMULATION or kind.category == Category.SIMULATOR.label


def _has_no_core(kind: Kind) -> bool:
    return kind.cause is Cause.NO_CORE


def _is_update_on_cpu(kind: Kind) -> bool:
    return kind.stage == BACKPROPAGATION and kind.cause in ON_CPU


def _compiled_s(path: OwnerPath) -> float:
    """Return the seconds that compiling the update saves at most: what the device worked stays."""
    device_s = sum(seconds for kind, seconds in path.own.items() if kind.cause in ON_DEVICE)
    return min(Removal(path, _is_update_on_cpu, None).saved_s(), path.total_s - device_s)


def _asynchronous_s(path: OwnerPath, simulation: Removal) -> float:
    """Return the seconds that stepping environments asynchronously saves at most.

    Nothing waits for those who simulate, and the process simulates nothing itself; but these still have their work to
    do.
    """
    simulating = [group for group in path.followed if simulation.mean_s(group) > NOTHING * group.mean_s]
    longest_s = max((group.mean_s for group in simulating), default=0.0)
    return min(simulation.saved_s(set(simulating)), path.total_s - longest_s)
