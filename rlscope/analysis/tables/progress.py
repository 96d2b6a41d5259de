"""This file computes how far training came while it was recorded, and how long all of it would take."""

from dataclasses import dataclass

from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.model import NS_PER_S


@dataclass(frozen=True)
class RunProgress:
    """The progress of a run, as in `Analysis`; None is not known."""

    iterations: int | None = None
    timesteps: int | None = None
    total_timesteps: int | None = None
    extrapolated_s: float | None = None


def progress_of(swept: TraceSweep) -> RunProgress:
    """Return the progress of the process that reported most iterations, the earliest if several did."""
    best: ProcessSweep | None = None
    most = -1
    for process in swept.processes:
        reported = process.found.progress
        if reported is not None and reported.iterations > most:
            best, most = process, reported.iterations
    if best is None:
        return RunProgress()
    found = best.found.progress
    assert found is not None
    total = found.total_timesteps or None
    extrapolated_s = None
    made = found.last_timesteps - found.first_timesteps
    if total is not None and made > 0:
        clock = best.file.clock
        elapsed_ns = clock.monotonic_ns(found.last_ticks) - clock.monotonic_ns(found.first_ticks)
        elapsed_ns -= best.length_ns(found.evaluation_ticks)
        extrapolated_s = elapsed_ns * total / made / NS_PER_S
    return RunProgress(
        iterations=found.iterations,
        timesteps=found.last_timesteps - (found.baseline_timesteps or 0),
        total_timesteps=total,
        extrapolated_s=extrapolated_s,
    )
