"""Loops of a calibration that were not run: their bursts and traces say what was put into them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.trace_writer import TraceWriter
from rlscope.calibration.measure import LoopFound
from rlscope.calibration.twins import MEASURED, SETTLING
from rlscope.calibration.workload import SETTLING as SETTLING_BURSTS
from rlscope.calibration.workload import SWAPS, Measured
from rlscope.model import Category

EVENTS = 1000  # of a burst
#: Of a twin: events by name in a burst, and the ticks inside and outside of each.
Recorded = tuple[Mapping[str, int], int, int]


def lengths_of(
    random: np.random.Generator, added_ns: Mapping[str, float], bursts: int = 400, events: int = EVENTS
) -> dict[str, list[int]]:
    """Bursts with so many events of these costs, on a machine that drifts and is noisy: by 50 ns for each event."""
    drift = 1e7 * (1 + 0.2 * np.sin(np.arange(bursts) / 7))
    lengths = {"off": drift + random.normal(0, 50 * events, size=bursts)}
    for twin, added in added_ns.items():
        lengths[twin] = drift + events * added + random.normal(0, 50 * events, size=bursts)
    return {twin: each.astype(int).tolist() for twin, each in lengths.items()}


def write_twin(directory: Path, names: Mapping[str, int], inside: int = 100, outside: int = 50) -> None:
    """A trace of one settling and then measured bursts, with so many operations or calls of each name in all."""
    writer = TraceWriter(directory)
    process = writer.process()
    thread = process.thread()
    ticks = 0
    thread.phase(ticks, ticks, SETTLING)
    thread.begin_phase(ticks, MEASURED)
    for name, count in names.items():
        for _ in range(count):
            ticks += outside
            if "." in name:
                thread.begin_boundary(ticks, Category.BACKEND, name)
            else:
                thread.begin_operation(ticks, name)
            ticks += inside
            thread.end(ticks)
    thread.end(ticks)
    process.stop(ticks)
    writer.write({"complete": True})


def loop_found(directory: Path, lengths: Mapping[str, list[int]], twins: Mapping[str, Recorded]) -> LoopFound:
    """Whose twins recorded events of these names, so many of each in a burst. What is in the directory stays."""
    bursts = len(lengths["off"]) + SETTLING_BURSTS * SWAPS * len(lengths)
    for twin, (names, inside, outside) in twins.items():
        if not (directory / twin).exists():
            write_twin(directory / twin, {name: count * bursts for name, count in names.items()}, inside, outside)
    return LoopFound(Measured(lengths_ns=dict(lengths)), directory)
