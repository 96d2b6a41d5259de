"""The sentences that `inspect`, `analyze`, `plot` and `report` say of a trace, one line each."""

from collections.abc import Iterable

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.correction.corrected import AppliedCorrection
from rlscope.analysis.machines import MEASURED
from rlscope.analysis.table_rows import MachineRow
from rlscope.text.numbers import digits, duration, in_percent, percent_ends

#: A smaller share of the overhead that stays is not worth a line.
LEAST_SAID = 0.01
TASKS_TITLE = "Operations of coroutines and generators"
SAMPLES_TITLE = "Samples of rollouts"
RANKS_TITLE = "What each rank did with its time"
STRAGGLERS_TITLE = "Ranks that kept the others waiting"
COLLECTIVES_TITLE = "Calls of communicators"
DEVICE_RANKS_TITLE = "What the devices of ranks did with their time"
KERNELS_TITLE = "Kernels of communicators"
TAILS_TITLE = "Tails of iterations: from 90 % of the samples to the last"


def added_text(found: AppliedCorrection) -> str:
    """Say what recording added, with its interval: "1.4 % (1 to 1.9 %)"."""
    return f"{in_percent(found.added_percent)} % {percent_ends(found.added_low_percent, found.added_high_percent)}"


def correction_lines(analysis: Analysis) -> list[str]:
    """Say what recording added, and what of it is not removed; or why times are as they were recorded."""
    found = analysis.correction
    if found is None:
        return [f"times include what recording added: {analysis.uncorrected}"]
    to = f" to {found.process}" if len(analysis.processes) > 1 else ""
    lines = [f"recording added {added_text(found)}{to}, removed; calibration: {found.source}"]
    uncorrectable_s = sum(row.uncorrectable_s or 0.0 for row in analysis.processes)
    removed_s = sum(row.wall_s - row.corrected_wall_s for row in analysis.processes if row.corrected_wall_s is not None)
    overhead_s = removed_s + uncorrectable_s
    if uncorrectable_s > LEAST_SAID * overhead_s:
        lines.append(f"{duration(uncorrectable_s)} of it passed beside other threads' work or in waits, and stay")
    return [*lines, *found.notes]


def evaluation_lines(analysis: Analysis) -> list[str]:
    """Say how long each process that evaluated beside its training did so, and that this time is left out."""
    several = len(analysis.processes) > 1
    return [
        f"evaluation{f' in {process}' if several else ''}: {duration(seconds)}, left out of figures, "
        "transitions and the time for all timesteps"
        for process, seconds in analysis.evaluation_s.items()
    ]


def machine_lines(machines: Iterable[MachineRow]) -> list[str]:
    """Says how far the clock of each machine was off, where that was measured.

    What it means where it was not is said where losses are listed.
    """
    lines = []
    for row in machines:
        if row.placed != MEASURED or row.ahead_s is None or row.error_s is None:
            continue
        side = "ahead of" if row.ahead_s >= 0 else "behind"
        rate = "faster" if row.drift_ppm > 0 else "slower"
        drift = f" and runs {digits(abs(row.drift_ppm))} ppm {rate}" if row.drift_ppm else ""
        ahead = f"{duration(abs(row.ahead_s))} {side}"
        lines.append(
            f"machine {row.machine}: its clock is {ahead} that of `rlscope record`{drift}, "
            f"and that is taken out of its times; what is left is at most {duration(row.error_s)}"
        )
    return lines


def misnested_lines(analysis: Analysis) -> list[str]:
    """Say in one line how many operations were closed before their own end, if any were."""
    count = analysis.misnested_operations
    if not count:
        return []
    what = "operation was" if count == 1 else "operations were"
    return [
        f"{count:,} {what} closed by the end of another operation that had begun earlier, before their own end; the "
        "time from there on is not in their figures"
    ]
