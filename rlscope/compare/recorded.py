"""This file takes the times that can be compared out of a trace."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rlscope.analysis.account.words import account_lines
from rlscope.analysis.analysis import Analysis, make_analysis
from rlscope.analysis.detail.swept import SweptDetail, SweptFunction
from rlscope.analysis.sweep import ProcessSweep, TraceSweep, sweep_trace
from rlscope.analysis.tables.calls import detail_of
from rlscope.analysis.tables.loop import loop_ticks
from rlscope.analysis.tables.trainings import timesteps_of
from rlscope.calibration.calibration import AUTO, chosen
from rlscope.compare.counts import counts_of
from rlscope.compare.run_times import CauseTime, Facts, Indices, Place, RunTimes, Unit
from rlscope.errors import RLScopeError
from rlscope.model import EVALUATION
from rlscope.record.config import RecordConfig
from rlscope.trace.reader import Trace


@dataclass(frozen=True)
class Entries:
    """Entries say how long each iteration took, and in which places, in ticks; as in `RunTimes`."""

    lengths: npt.NDArray[np.uint64]
    kept: int
    iteration: Indices
    place: Indices
    ticks: npt.NDArray[np.uint64]
    first: int | None
    evaluated: int


def recorded(trace: Trace, recover: bool = False) -> RunTimes:
    """Sweep a trace, and return its times."""
    swept = sweep_trace(trace, recover, correction=chosen(trace, AUTO), bins=0)
    return times_of(swept, make_analysis(swept, recover))


def times_of(swept: TraceSweep, analysis: Analysis) -> RunTimes:
    """Return the times of the process that paces the run, of a trace that was swept in detail.

    They are those of its iterations; without any, of its loop; where nothing shows a loop, of its life. What devices
    did and how often it went from one layer into another is that of the loop as well.
    """
    trace = swept.trace
    path = analysis.path
    process = swept.main if path is None else next(each for each in swept.processes if each.name == path.process)
    detail = detail_of(process)
    unit = Unit.LOOP if path is not None and path.time.has_loop else Unit.RUN
    trainings = process.found.trainings if detail.iteration_starts else ()
    unit = Unit.ITERATION if trainings else unit
    functions = (
        _functions_in(detail.functions, loop_ticks(process, analysis.loops))
        if unit is Unit.LOOP
        else [(_place(each), each.ticks) for each in detail.functions]
    )
    entries = iterations_in(detail) if unit is Unit.ITERATION else _of_once([ticks for _, ticks in functions])
    second = process.seconds_per_tick
    count = max(sum(training.iterations for training in trainings), 1)
    counts = counts_of(process.name, detail.functions, _transitions_in(process, analysis, unit), analysis)
    return RunTimes(
        path=trace.directory,
        unit=unit,
        lengths=entries.lengths * second,
        places=tuple(place for place, _ in functions),
        kept=entries.kept,
        iteration=entries.iteration,
        place=entries.place,
        seconds=entries.ticks * second,
        first_s=None if entries.first is None else entries.first * second,
        evaluated=entries.evaluated,
        timesteps=timesteps_of(trainings) / count or None,
        busy_s={device: busy_s / count for device, busy_s in analysis.loop_busy_s.items()},
        counts={counted: number / count for counted, number in counts.items()},
        causes=_causes(analysis),
        findings={row.code: row.change for row in reversed([*analysis.findings])},
        no_core_share=analysis.cores.no_core_share,
        corrected=_corrected(process, analysis, unit),
        start_ns=_realtime_ns(trace.manifest, "start") or min(each.start_ns for each in swept.processes),
        end_ns=_realtime_ns(trace.manifest, "end") or max(each.end_ns for each in swept.processes),
        why=analysis.why,
        facts=_facts(trace, analysis),
    )


def iterations_in(detail: SweptDetail) -> Entries:
    """Return the iterations of a process without the first one, in which it warms up, and without evaluation.

    What would leave none is left in.
    """
    starts, ends = (np.frombuffer(times, "<u8") for times in (detail.iteration_starts, detail.iteration_ends))
    count = len(starts)
    used = np.arange(count) > 0 if count > 1 else np.ones(count, np.bool_)
    trained = used & ~_evaluated(detail, starts, ends)
    evaluated = int(used.sum() - trained.sum())
    if trained.any():
        used = trained
    else:
        evaluated = 0
    iteration = np.frombuffer(detail.iterations, "<u4")
    kept = used & _evenly_spaced(iteration, ends > starts)
    number = np.cumsum(kept) - 1
    inside = kept[iteration]
    return Entries(
        lengths=(ends - starts)[used],
        kept=int(kept.sum()),
        iteration=number[iteration[inside]],
        place=np.frombuffer(detail.iteration_functions, "<u4")[inside],
        ticks=np.frombuffer(detail.iteration_ticks, "<u8")[inside],
        first=int(ends[0] - starts[0]) if count > 1 else None,
        evaluated=evaluated,
    )


def _evaluated(
    detail: SweptDetail, starts: npt.NDArray[np.uint64], ends: npt.NDArray[np.uint64]
) -> npt.NDArray[np.bool_]:
    """Return in which iterations a policy was evaluated. Shape: (iterations,)."""
    found = np.zeros(len(starts), np.bool_)
    begins = np.frombuffer(detail.phase_starts, "<u8")
    phases = np.frombuffer(detail.phases, "<u4")
    over = np.append(begins[1:], np.uint64(2**63))[: len(begins)]
    for begin, end, phase in zip(begins, over, phases, strict=True):
        if detail.phase_names[phase] == EVALUATION:
            found |= (starts < end) & (ends > begin)
    return found


def _evenly_spaced(iteration: Indices, is_long: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which iterations have entries and are evenly spaced: all of few; of many not the slowest, kept besides.

    Args:
        iteration: Of each entry, its iteration.
        is_long: Whether each iteration took any time, without which it has no entry. Shape: (iterations,).
    """
    count = len(is_long)
    has_entries = np.bincount(iteration, minlength=count) > 0
    step = 1
    while step < count and not has_entries[::step][is_long[::step]].all():
        step *= 2
    spaced: npt.NDArray[np.bool_] = np.arange(count) % step == 0
    return spaced


def _transitions_in(process: ProcessSweep, analysis: Analysis, unit: Unit) -> int:
    """Return how often a process went from one layer into another in its loop, or in its life where it shows none."""
    found, is_run = process.found, unit is Unit.RUN
    entries = sum(row.entries for row in found.transitions) if is_run else found.transitions_in_loop
    if process.name not in analysis.loops.training:
        entries += sum(row.entries for row in found.evaluation_transitions)
    return entries


def _causes(analysis: Analysis) -> dict[str, CauseTime]:
    """Return the causes of the account, by their words: lines of one name are summed, at the place of the longest."""
    found: dict[str, CauseTime] = {}
    for line in account_lines(analysis):
        longest = found.get(line.name, CauseTime(0.0, line.where))
        found[line.name] = longest._replace(seconds=longest.seconds + line.seconds)
    return found


def _place(function: SweptFunction) -> Place:
    return Place(function.stage, function.operation, function.category, function.function)


def _functions_in(
    functions: Iterable[SweptFunction], loop: Mapping[tuple[str, str, str], int]
) -> list[tuple[Place, int]]:
    """Return how long a process was in each function in its loop.

    Of a layer of an operation that lies in the loop only in part, as Python in no operation, nothing says which of its
    functions did: it is one entry without a name.

    Args:
        functions: With the ticks of the whole life.
        loop: The ticks in the loop, by stage, operation and category.
    """
    layers: dict[tuple[str, str, str], list[SweptFunction]] = {}
    for each in functions:
        layers.setdefault((each.stage, each.operation, each.category), []).append(each)
    found = []
    for layer, ticks in loop.items():
        of_layer = layers.get(layer, [])
        is_whole = sum(each.ticks for each in of_layer) == ticks
        found += [(_place(each), each.ticks) for each in of_layer] if is_whole else [(Place(*layer, ""), ticks)]
    return found


def _of_once(ticks: Sequence[int]) -> Entries:
    """Return something that happened once, as one iteration, from how long it was in each place."""
    return Entries(
        lengths=np.array([sum(ticks)], np.uint64),
        kept=1,
        iteration=np.zeros(len(ticks), np.intp),
        place=np.arange(len(ticks)),
        ticks=np.array(ticks, np.uint64),
        first=None,
        evaluated=0,
    )


def _corrected(process: ProcessSweep, analysis: Analysis, unit: Unit) -> float | None:
    """Return what times are to be multiplied with to be without the cost of recording; None if that is not known."""
    recorded_s, corrected_s = 0.0, 0.0
    for row in analysis.breakdown:
        if row.process == process.name:
            if row.corrected_seconds is None:
                return None
            share = 1.0 if unit is Unit.RUN else analysis.loops.share(row)
            recorded_s += row.seconds * share
            corrected_s += row.corrected_seconds * share
    return corrected_s / recorded_s if recorded_s else None


def _realtime_ns(manifest: Mapping[str, Any], key: str) -> int:
    """Return when the run started or ended by the manifest, which may hold anything; 0 if it does not say."""
    found = manifest.get(key)
    time_ns = found.get("realtime_ns") if isinstance(found, dict) else None
    return time_ns if isinstance(time_ns, int) else 0


def _facts(trace: Trace, analysis: Analysis) -> Facts:
    """Return the conditions of a recorded run, as far as its files say them."""
    manifest = trace.manifest
    machine, command = manifest.get("machine"), manifest.get("command")
    layers, counters = None, tuple[str, ...]()
    try:
        config = RecordConfig.load(trace.directory)
        layers, counters = tuple(map(str, config.layers)), tuple(map(str, config.counters))
    except (OSError, RLScopeError, ValueError, TypeError, KeyError, RecursionError):
        pass  # nothing is known of how it was recorded
    return Facts(
        machine=f"{machine.get('cpu')}, {machine.get('cores')} cores" if isinstance(machine, dict) else None,
        python=_text(manifest.get("python")),
        rlscope=_text(manifest.get("rlscope_version")),
        command=tuple(map(str, command)) if isinstance(command, list) else None,
        layers=layers,
        counters=counters,
        calibration=analysis.correction.source if analysis.correction is not None else None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
