"""This file makes sides of runs, refuses what cannot be compared, and says what may explain a difference besides."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rlscope.compare.comparison import Comparison, Word
from rlscope.compare.estimate import FEWEST, ITERATIONS
from rlscope.compare.run_times import Facts, RunTimes, Unit
from rlscope.compare.sides import Side
from rlscope.errors import UsageError
from rlscope.record.config import HOW_TO_REPORT
from rlscope.text.numbers import change, digits, percent

#: A unit of more timesteps than this times as many is another one.
OTHER_TIMESTEPS = 1.01
HOW_TO_REPEAT = "`rlscope bench -n 5` runs commands in turns"


#: What there is to compare of a run.
COMPARED = {Unit.ITERATION: "with iterations", Unit.LOOP: "with a loop but no iterations", Unit.RUN: "without a loop"}


@dataclass(frozen=True)
class _Condition:
    """Something that should be the same on both sides: what it is called, how it is read, and what None means."""

    name: str
    value: Callable[[Facts], str | None]
    unknown: str = "unknown"


CONDITIONS = (
    _Condition("machine", lambda facts: facts.machine),
    _Condition("Python", lambda facts: facts.python),
    _Condition("version of rlscope", lambda facts: facts.rlscope, "none"),
    _Condition("calibration", lambda facts: facts.calibration, "none"),
    _Condition("list of counters", lambda facts: ", ".join(facts.counters), "empty"),
)


def sides_of(named: Mapping[str, Sequence[RunTimes]], unit: Unit | None = None) -> list[Side]:
    """Make a side of each named group of runs.

    Args:
        named: One or more runs per name.
        unit: What times are to be of; None for iterations where all runs have them, else loops, else whole runs.

    Raises:
        UsageError: times of these runs say nothing of each other, or not what they are asked for.
    """
    runs = [(f"{name} ({run.path})", run) for name, group in named.items() for run in group]
    _same(runs, lambda run: "recorded" if run.is_recorded else "only timed", "record all of them, or time all")
    _same(runs, lambda run: ", ".join(run.facts.layers) if run.facts.layers else None, "record the same --layers")
    _same(runs, lambda run: "with counters" if run.facts.counters else "without counters", "sample on none of them")
    _same(
        runs,
        lambda run: COMPARED[run.unit],
        f"in each program, {HOW_TO_REPORT}",
    )
    found = unit or runs[0][1].unit
    if found in (Unit.ITERATION, Unit.TIMESTEP) and runs[0][1].unit is not Unit.ITERATION:
        raise UsageError(f"--per {found.value} needs runs with iterations: {HOW_TO_REPORT}")
    for name, run in runs:
        if found is Unit.TIMESTEP and run.timesteps is None:
            raise UsageError(f"--per timestep needs runs that report timesteps, but {name} reports none")
    return [Side(name, tuple(group), found) for name, group in named.items()]


def _same(runs: Sequence[tuple[str, RunTimes]], what: Callable[[RunTimes], str | None], advice: str) -> None:
    """Refuse runs that differ in something which decides what their times are."""
    known = [(name, found) for name, run in runs if (found := what(run)) is not None]
    for (name, found), (other_name, other) in pairwise(known):
        if found != other:
            raise UsageError(
                f"runs of one kind were expected, but {name} is {found} and {other_name} is {other}; {advice}"
            )


def cautions(comparison: Comparison) -> list[str]:
    """Say what a reader must know before believing the verdict, one sentence each."""
    sides = comparison.base, comparison.other
    found = _of_repetition(comparison)
    found += [text for condition in CONDITIONS for text in _differing(sides, condition)]
    found += _of_timesteps(comparison)
    found += _of_cores(comparison)
    for side in sides:
        found += [f"incomplete: {run.path}: {reason}" for run in side.runs for reason in run.why]
        evaluated = sum(run.evaluated for run in side.runs)
        if evaluated:
            found.append(f"{side.name}: iterations in which a policy was evaluated are left out, {evaluated:,} of them")
    if comparison.is_turned_by_correction:
        corrected = change(comparison.corrected_percent or 0.0)
        found.append(
            f"without what recording added, the change would be {corrected}: the cost of recording is as large "
            "as the difference, so there is no verdict"
        )
    return found


def _of_repetition(comparison: Comparison) -> list[str]:
    """Say where repetitions do not hold what makes runs differ."""
    base, other = comparison.base, comparison.other
    if comparison.repeated == ITERATIONS:
        fewest = min(len(base.runs), len(other.runs))
        counted = "one run" if fewest == 1 else f"{fewest} runs"
        within = "the interval is within these runs" if comparison.change.has_interval else "there is no interval"
        return [
            f"a side has {counted} only, so {within}: it does not hold how runs differ, and machines drift. Record "
            f"{FEWEST} runs or more of each side before believing it: {HOW_TO_REPEAT}"
        ]
    first, second = sorted((base, other), key=lambda side: min(run.start_ns for run in side.runs))
    if all(run.start_ns for side in (first, second) for run in side.runs) and max(
        run.end_ns for run in first.runs
    ) <= min(run.start_ns for run in second.runs):
        return [
            f"all runs of {first.name} came before those of {second.name}, so a machine that changed meanwhile would "
            f"look the same: {HOW_TO_REPEAT}"
        ]
    return []


def _of_cores(comparison: Comparison) -> list[str]:
    """Say which side lacked a core for more of its time than the sides differ by."""
    differ = abs(comparison.change.value)
    if comparison.word not in (Word.FASTER, Word.SLOWER):
        differ = max(differ, comparison.same_percent)
    return [
        f"{side.name} waited for a core for {percent(side.no_core_share)} of its time, which is more than the sides "
        "differ by: repeat it where nothing else runs"
        for side in (comparison.base, comparison.other)
        if side.no_core_share is not None and 100 * side.no_core_share > differ
    ]


def _differing(sides: tuple[Side, Side], condition: _Condition) -> list[str]:
    """Say what a condition is on both sides, if it is not the same in all runs."""
    values = [dict.fromkeys(condition.value(run.facts) or condition.unknown for run in side.runs) for side in sides]
    if values[0].keys() == values[1].keys() and len(values[0]) == 1:
        return []
    first, second = (" and ".join(each) for each in values)
    return [f"the {condition.name} of {sides[0].name} is {first}, that of {sides[1].name} {second}"]


def _of_timesteps(comparison: Comparison) -> list[str]:
    """Say where an iteration of one side is more work than one of the other."""
    if comparison.base.unit is not Unit.ITERATION:
        return []
    means = []
    for side in (comparison.base, comparison.other):
        known = [run.timesteps for run in side.runs if run.timesteps]
        if len(known) < len(side.runs):
            return []
        means.append(sum(known) / len(known))
    if max(means) <= OTHER_TIMESTEPS * min(means):
        return []
    return [
        f"an iteration of {comparison.base.name} has {digits(means[0])} timesteps, one of {comparison.other.name} "
        f"{digits(means[1])}: --per timestep compares the same work"
    ]
