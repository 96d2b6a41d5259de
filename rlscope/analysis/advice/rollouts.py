"""This file bounds what changes to rollouts save, where one part generates or acts and hands on to one that trains."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rlscope.analysis.advice.causes import Cause, Kind, Mix
from rlscope.analysis.advice.owner_path import OwnerPath
from rlscope.analysis.advice.removal import Removal
from rlscope.analysis.devices.causes import IdleCause
from rlscope.analysis.devices.rows import DeviceIdleRow, GpuOperationRow
from rlscope.analysis.tables.samples import SampleTailRow
from rlscope.model import BACKPROPAGATION, DECODING, INFERENCE, REWARD, SIMULATION, SYNCHRONISATION
from rlscope.text.numbers import digits, duration

#: Work of the CPU while no device works.
WITHOUT_DEVICE = (Cause.SIMULATOR, Cause.PYTHON, Cause.NATIVE, Cause.BACKEND, Cause.LAUNCHES)


class Saving(NamedTuple):
    """The seconds of the path that a change saves at most, under an assumption, by shortening a stage."""

    name: str
    stage: str
    assumption: str
    saving_s: float


def savings_of_rollouts(
    path: OwnerPath,
    gpu_operations: Iterable[GpuOperationRow],
    tails: Iterable[SampleTailRow],
    device_idle: Iterable[DeviceIdleRow],
) -> Iterator[Saving]:
    """Yield what each change saves to which the path has time; runs without rollouts of this kind have none.

    Args:
        path: of the run.
        gpu_operations: of its analysis.
        tails: of its analysis, one per process and iteration with samples.
        device_idle: of its analysis: for how long devices did nothing, and why.
    """
    synchronised_s = Removal(path, _is_synchronisation, SYNCHRONISATION).saved_s()
    if synchronised_s > 0:
        name = "synchronise weights beside the rest"
        yield Saving(name, SYNCHRONISATION, "synchronisation took no time", synchronised_s)
    rewards_s = Removal(path, _is_reward_on_cpu, None).saved_s()
    if rewards_s > 0:
        name = "compute rewards beside the rest"
        yield Saving(name, SIMULATION, "the CPU took no time for rewards", rewards_s)
    yield from _as_graph(path, gpu_operations)
    yield from _without_tails(path, tails, device_idle)
    if synchronised_s > 0 or any(kind.part in DECODING and seconds > 0 for kind, seconds in path.mix.items()):
        yield from _overlapped(path)


def _as_graph(path: OwnerPath, gpu_operations: Iterable[GpuOperationRow]) -> Iterator[Saving]:
    """Yield what launching decoding as one CUDA graph saves: the device's idle time while the CPU gets it to work.

    Say that decoding launched 40,000 kernels and that the device was idle for 0.32 s of it while the CPU was in Python,
    PyTorch or a launch. That is 8 us a kernel. A graph launches many kernels at once, and they take as long as before:
    it saves at most 0.32 s.
    """
    processes = _processes(path)
    kernels = sum(row.kernels for row in gpu_operations if row.operation in DECODING and row.process in processes)
    saving_s = Removal(path, _is_launching, None).saved_s() if kernels else 0.0
    if saving_s > 0:
        idle_s = sum(_seconds(work.own, _is_launching) for work in (path, *path.reached))
        launches = f"{kernels:,} launches of {duration(idle_s / kernels)}"
        yield Saving("decode by a CUDA graph", INFERENCE, f"the device waited for none of {launches}", saving_s)


def _without_tails(
    path: OwnerPath, tails: Iterable[SampleTailRow], device_idle: Iterable[DeviceIdleRow]
) -> Iterator[Saving]:
    """Yield what it saves to wait for no tail, as if the next samples began in it: at most all tails.

    In each of 20 iterations the 18th of 20 samples is complete 1 s after the begin and the last one after 1.6 s. The
    tails are 20 times 0.6 s: 12 s. Of processes that are waited for, the one with the longest tails counts, and no more
    of it than the path waits: of 12 s of tails in a worker, for which the path waits 5 s, at most 5 s are saved.
    """
    tails_of: dict[str, list[SampleTailRow]] = {process: [] for process in sorted(_processes(path))}
    for row in tails:
        if row.process in tails_of and row.tail_s > 0:
            tails_of[row.process].append(row)
    tails_s = {process: sum(row.tail_s for row in rows) for process, rows in tails_of.items()}
    waited_s = sum(group.wait_s for group in path.followed)
    of_others_s = max((seconds for process, seconds in tails_s.items() if process != path.process), default=0.0)
    saving_s = tails_s[path.process] + min(of_others_s, waited_s)
    if saving_s > 0:
        process = max(tails_s, key=lambda each: tails_s[each])
        rows = tails_of[process]
        idle_s = sum(row.seconds for row in device_idle if (row.process, row.cause) == (process, IdleCause.TAIL))
        idle = f", in which devices were idle for {duration(idle_s)} for want of samples" if idle_s else ""
        iterations = f"{len(rows):,} iteration{'s' if len(rows) > 1 else ''} of {process}"
        length = f"{duration(tails_s[process])} in {iterations}{idle}"
        yield Saving(
            "begin other samples in the tail",
            INFERENCE,
            f"nothing waited for the last tenth of samples: {length}",
            saving_s,
        )


def _overlapped(path: OwnerPath) -> Iterator[Saving]:
    """Yield what overlapping rollout with training saves: at most the shorter of both.

    Rollout takes 10 s of the path, training 6 s, and the rest 1 s: overlapped, the run takes 11 s, 6 s less. Where both
    overlap already, the path cannot be shorter than either in one of those that it waits for: a trainer that works for
    6 s and waits 4 s for a rollout that works for 10 s saves nothing, because 10 s are left in any case.
    """
    rollout_s, training_s = (_seconds(path.mix, is_it) for is_it in (_is_rollout, _is_training))
    parts_s = [_seconds(group.mix, is_it) for group in path.followed for is_it in (_is_rollout, _is_training)]
    longest_s = max(parts_s, default=0.0)
    saving_s = min(rollout_s, training_s, path.total_s - longest_s)
    if saving_s > 0:
        lengths = f"rollout, {duration(rollout_s)}, and training, {duration(training_s)}"
        assumption = f"{lengths}, a ratio of {digits(rollout_s / training_s)}, ran at once"
        shorter = BACKPROPAGATION if training_s < rollout_s else INFERENCE
        yield Saving("overlap rollout and training", shorter, assumption, saving_s)


def _processes(path: OwnerPath) -> set[str]:
    """Return the process of the path, and all that were followed."""
    return {path.process}.union(*(group.names for work in (path, *path.reached) for group in work.followed))


def _seconds(mix: Mix, is_it: Callable[[Kind], bool]) -> float:
    return sum(seconds for kind, seconds in mix.items() if is_it(kind))


def _is_rollout(kind: Kind) -> bool:
    return kind.stage in (SIMULATION, INFERENCE)


def _is_training(kind: Kind) -> bool:
    return kind.stage == BACKPROPAGATION


def _is_synchronisation(kind: Kind) -> bool:
    return kind.stage == SYNCHRONISATION


def _is_reward_on_cpu(kind: Kind) -> bool:
    return kind.part == REWARD and kind.cause in WITHOUT_DEVICE


def _is_launching(kind: Kind) -> bool:
    return kind.part in DECODING and kind.cause in WITHOUT_DEVICE
