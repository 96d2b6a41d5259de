"""Changes that could make a run faster, and what each could save at most on its owner path."""

from collections.abc import Callable
from dataclasses import dataclass

from rlscope.analysis.causes import NOTHING, Cause, Kind, Mix
from rlscope.analysis.owner_path import Followed, OwnerPath
from rlscope.model import Category

SIMULATION, INFERENCE, BACKPROPAGATION = "simulation", "inference", "backpropagation"
ON_DEVICE = (Cause.GPU, Cause.OVERLAP)
ON_CPU = (Cause.PYTHON, Cause.BACKEND, Cause.LAUNCHES, Cause.OVERLAP)


@dataclass(frozen=True)
class Change:
    """What somebody could do to a run.

    Attributes:
        name: of the change.
        stage: that it shortens.
        assumption: under which it saves that much.
        saving_s: of the path's seconds, at most.
        speedup: total / (total - saving), at most; None if nothing else is on the path.
    """

    name: str
    stage: str
    assumption: str
    saving_s: float
    speedup: float | None


def changes_of(path: OwnerPath) -> tuple[Change, ...]:
    """Those to stages that have time on the path, the one that could save most first; of others nothing is known."""
    found = (
        _change(path, "batch inference", INFERENCE, "inference took no time", _spent(path, _is_inference, INFERENCE)),
        _change(
            path,
            "step environments asynchronously",
            SIMULATION,
            "nothing waited for a simulation",
            _asynchronous_s(path),
        ),
        _change(
            path,
            "move the simulation to the device",
            SIMULATION,
            "simulation took no time",
            _spent(path, _is_simulation, SIMULATION),
        ),
        _change(path, "compile the update", BACKPROPAGATION, "the CPU took no time for the update", _compiled_s(path)),
    )
    with_time = {kind.stage for kind, seconds in path.mix.items() if seconds > 0}
    if _seconds(path.mix, _is_simulation) > 0:
        with_time.add(SIMULATION)
    known = [change for change in found if change.stage in with_time]
    return tuple(sorted(known, key=lambda change: -change.saving_s))


def _change(path: OwnerPath, name: str, stage: str, assumption: str, saving_s: float) -> Change:
    saving_s = min(max(saving_s, 0.0), path.total_s)
    rest_s = path.total_s - saving_s
    speedup = path.total_s / rest_s if rest_s > NOTHING * path.total_s else None
    return Change(name, stage, assumption, saving_s, speedup)


def _is_inference(kind: Kind) -> bool:
    return kind.stage == INFERENCE


def _is_simulation(kind: Kind) -> bool:
    return kind.stage == SIMULATION or kind.category == Category.SIMULATOR.label


def _is_update_on_cpu(kind: Kind) -> bool:
    return kind.stage == BACKPROPAGATION and kind.cause in ON_CPU


def _compiled_s(path: OwnerPath) -> float:
    """What the device worked stays."""
    device_s = sum(seconds for kind, seconds in path.own.items() if kind.cause in ON_DEVICE)
    return min(_spent(path, _is_update_on_cpu, None), path.total_s - device_s)


def _asynchronous_s(path: OwnerPath) -> float:
    """No more waiting for those who simulate, and no simulation of its own; but these still have their work to do."""
    own_s = _seconds(path.own, _is_simulation)
    simulating = [group for group in path.followed if _seconds(group.mix, _is_simulation) > 0]
    waited_s = sum(group.wait_s for group in simulating)
    longest_s = max((group.mean_s for group in simulating), default=0.0)
    return min(own_s + waited_s, path.total_s - longest_s)


def _spent(path: OwnerPath, is_it: Callable[[Kind], bool], stage: str | None) -> float:
    """What goes if time of a kind does: of the process, its waits in the stage, and of the others."""
    in_stage = path.wait_stages.get(stage, 0.0) if stage is not None else 0.0
    others_s = sum(in_stage * group.wait_s + (1 - in_stage) * _shortened_s(group, is_it) for group in path.followed)
    return _seconds(path.own, is_it) + others_s


def _shortened_s(group: Followed, is_it: Callable[[Kind], bool]) -> float:
    """By how much waiting for a group shortens at most: the rest of its work, shared evenly, has to be waited for."""
    mean_s = _seconds(group.mix, is_it)
    return min(group.wait_s, group.spread_s + mean_s, len(group.names) * mean_s)


def _seconds(mix: Mix, is_it: Callable[[Kind], bool]) -> float:
    return sum(seconds for kind, seconds in mix.items() if is_it(kind))
