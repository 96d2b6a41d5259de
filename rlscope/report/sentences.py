"""The sentences that `inspect`, `analyze`, `plot` and `report` say of a trace, one line each."""

import heapq
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.correction.corrected import AppliedCorrection
from rlscope.analysis.counters.runs import SampledDevice
from rlscope.analysis.machines import MEASURED
from rlscope.analysis.rows import sums
from rlscope.analysis.table_rows import MachineRow
from rlscope.errors import RLScopeError
from rlscope.model import NO_OPERATION, STAGES, Stage
from rlscope.record.config import RecordConfig
from rlscope.text.numbers import digits, duration, in_percent, percent, percent_ends
from rlscope.trace.reader import counter_files

NOT_COMPARABLE = "a run with counters: its times are not for comparison with others"
#: How a name begins that means a stage.
STEMS: dict[str, str] = {stem: stage.value for stage in Stage for stem in stage.stems}
#: A stage's name with two letters swapped or one left out is at least as like it as this; other words are not.
LIKENESS = 0.8
#: A name such as `step 17` makes millions of operations; comparing each would take hours, and no line be read.
MOST_NAMES = 100
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


def stage_meant(operation: str) -> str | None:
    """Return the stage that an operation's name is nearly the name of; None for a stage's own name."""
    if set(operation.split("+")) <= set(STAGES):  # a compiled function of two stages has both names
        return None
    name = operation.casefold()
    stem = next((stage for stem, stage in STEMS.items() if name.startswith(stem)), None)
    if stem is not None:
        return stem
    from difflib import get_close_matches  # which a run whose operations are all in stages does not need

    return next(iter(get_close_matches(name, STAGES, 1, LIKENESS)), None)


def stage_name_lines(analysis: Analysis) -> list[str]:
    """Return one line for each of the longest operations outside all stages that has nearly a stage's name."""
    seconds = sums(
        (row.operation, row.seconds)
        for row in analysis.breakdown
        if row.stage not in STAGES and row.operation != NO_OPERATION
    )
    outside = sorted(heapq.nlargest(MOST_NAMES, seconds, key=lambda name: seconds[name]))
    return [
        f"operation `{name}` belongs to no stage: the stages are called {', '.join(STAGES)}; "
        f"was `{stage}` meant? Then name it so"
        for name in outside
        if (stage := stage_meant(name))
    ]


def counter_lines(analysis: Analysis) -> list[str]:
    """Return what a reader must know of the sampling; nothing of a run without counters."""
    if analysis.counter_runs is None:
        return []
    lines = [NOT_COMPARABLE, *(_device_line(device) for device in analysis.counter_runs.devices)]
    if analysis.counter_runs.error is not None:
        lines.append(f"counters were not all sampled: {analysis.counter_runs.error}")
    return lines


def _device_line(device: SampledDevice) -> str:
    named = f"GPU {device.device}" if device.device is not None else f"{device.uuid}, which no recorded process used"
    lost = "" if device.lost_samples is None else f", {device.lost_samples:,} lost"
    line = f"counters of {named}: {device.samples:,} samples, one in {duration(device.interval_ns / 1e9)}{lost}"
    if device.unattributed_share is None:
        return f"{line}; it was never active"
    return f"{line}; {percent(device.unattributed_share)} of its active cycles were while no recorded work ran"


def inspect_lines(directory: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return which counters were sampled, and how much; nothing of a run without."""
    try:
        names = RecordConfig.load(directory).counters
    except (OSError, RLScopeError, ValueError, TypeError, KeyError, RecursionError):  # the trace is shown all the same
        names = ()
    facts = manifest.get("counters")
    files = counter_files(directory)
    if not names and facts is None and not files:
        return []
    listed = facts.get("devices") if isinstance(facts, dict) else None
    devices = [device for device in listed if isinstance(device, dict)] if isinstance(listed, list) else []
    counts = [
        f"{device.get('uuid')} {device.get('samples')} samples, {device.get('lost_samples')} lost" for device in devices
    ]
    sampled = "; ".join(counts) or f"samples of {len(files)} devices"
    lines = [f"counters: {', '.join([*map(str, names)]) or 'unknown'}; {sampled}; {NOT_COMPARABLE}"]
    if isinstance(facts, dict) and isinstance(facts.get("error"), str):
        lines.append(f"counters were not all sampled: {facts['error']}")
    return lines
