"""This file puts a comparison into sentences: the verdict, where the difference is, and what a gate says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from rlscope.compare.comparison import Comparison, Row, Word
from rlscope.compare.differences import degrees_of
from rlscope.compare.estimate import CONFIDENCE_PERCENT, FEWEST, RUNS, errors_at
from rlscope.compare.parts import Kind, Part
from rlscope.compare.run_times import Unit
from rlscope.errors import UsageError
from rlscope.model import NO_OPERATION
from rlscope.text.numbers import change, digits, duration, duration_ends, in_percent, percent, percent_ends, unit_of

#: Exit statuses of a gate: not slower by more than the limit, slower by more, or neither can be said.
PASSED, SLOWER, UNDECIDED = 0, 1, 3
#: More repetitions are not worth counting out.
MOST_ADVISED = 100_000
#: Causes with less of both sides' time are shown only if they differ for sure.
LEAST_CAUSE = 0.05


def status_of(comparison: Comparison, fail_above: float) -> int:
    """Return the exit status of a gate.

    It is 1 if the other side is slower by more than `fail_above` percent for sure, 3 if that can be neither shown nor
    excluded, else 0. For a limit of 5 %, 6 to 9 % is 1, 4 to 7 % is 3, and 1 to 4 % is 0.

    Raises:
        UsageError: a side has too few runs to decide anything.
    """
    for side in (comparison.base, comparison.other):
        if len(side.runs) < FEWEST:
            raise UsageError(
                f"--fail-above needs {FEWEST} runs or more of each side, but {side.name} has {len(side.runs)}, which "
                "does not say how runs differ. Run both in turns: rlscope bench -n 5 'COMMAND A' 'COMMAND B'"
            )
    low, high = comparison.change.low, comparison.change.high
    assert low is not None and high is not None
    if comparison.is_turned_by_correction or low <= fail_above < high:
        return UNDECIDED
    return SLOWER if low > fail_above else PASSED


def sentences(comparison: Comparison) -> list[str]:
    """Say what a reader of the numbers must know of the first iterations, and of the cores; nothing that is unknown."""
    return [said for said in (_first_iterations(comparison), _no_core_sentence(comparison)) if said is not None]


def _first_iterations(comparison: Comparison) -> str | None:
    """Say how long the first iterations took, which are left out; None where none was."""
    means = []
    for side in (comparison.base, comparison.other):
        known = [run.first_s for run in side.runs if run.first_s is not None]
        if not known:
            return None
        means.append(fmean(known))
    return (
        f"The first iteration, left out, took {duration(means[0])} in {comparison.base.name} and "
        f"{duration(means[1])} in {comparison.other.name}."
    )


def _no_core_sentence(comparison: Comparison) -> str | None:
    """Say for which share of their time both sides waited for a core; None where they were only timed."""
    base, other = comparison.base, comparison.other
    if not base.runs[0].is_recorded:
        return None
    of_base, of_other = (
        "an unknown share" if side.no_core_share is None else percent(side.no_core_share) for side in (base, other)
    )
    return f"{base.name} waited for a core for {of_base} of its time, {other.name} for {of_other}."


def gate_sentence(comparison: Comparison, fail_above: float) -> str:
    """Say what a gate decides, and why."""
    limit, interval = f"more than {digits(fail_above)} %", interval_text(comparison)
    return {
        PASSED: f"Passed: {comparison.other.name} is not slower by {limit}: {interval}.",
        SLOWER: f"Failed: {comparison.other.name} is slower by {limit} for sure: {interval}.",
        UNDECIDED: f"Undecided: whether {comparison.other.name} is slower by {limit} is neither shown nor excluded: "
        f"{interval}. Record more runs.",
    }[status_of(comparison, fail_above)]


def verdict(comparison: Comparison) -> str:
    """Say in a few sentences what changed, and where."""
    sentences = [f"{headline(comparison)}."]
    if comparison.word is Word.UNCLEAR and comparison.change.has_interval:
        sentences.append(_what_would_suffice(comparison))
    if comparison.rows:
        stages = [_of_stage(comparison, row) for row in comparison.sure(Kind.STAGE)]
        no_other = "No other stage differs" if stages else "No stage differs"
        sentences += [*stages, f"{no_other} for sure."]
    return " ".join(sentences)


def headline(comparison: Comparison) -> str:
    """Say how much faster or slower the other side is."""
    other, found, per = comparison.other.name, comparison.change, f"per {comparison.other.unit.value}"
    times = f"{duration(comparison.other_s)} instead of {duration(comparison.base_s)}, {_counted(comparison)}"
    if not found.has_interval:
        return f"{other} took {change(found.value)} time {per}, without an interval: {times}"
    interval = interval_text(comparison)
    if comparison.is_turned_by_correction:
        turned = change(comparison.corrected_percent or 0.0)
        return f"No verdict: {interval} time {per} as recorded, {turned} without what recording added: {times}"
    if comparison.word is Word.SAME:
        return f"{other} takes the same time {per} within {digits(comparison.same_percent)} %: {interval}, {times}"
    if comparison.word is Word.UNCLEAR:
        return f"No difference is shown: {interval} time {per}, {times}"
    more = "more" if comparison.word is Word.SLOWER else "less"
    low, high = sorted((abs(found.low or 0.0), abs(found.high or 0.0)))
    return (
        f"{other} is {comparison.word.value}: {in_percent(abs(found.value))} % {more} time {per} "
        f"{percent_ends(low, high)}, {times}"
    )


def interval_text(comparison: Comparison) -> str:
    """Return the change in percent with its interval: "+2.1 % (-0.5 to 4.7 %)"."""
    found = comparison.change
    return f"{change(found.value)} {percent_ends(found.low or 0.0, found.high or 0.0)}"


@dataclass(frozen=True)
class Shown:
    """Rows that are shown as one table, and what their numbers are to be multiplied with."""

    title: str
    rows: list[Row]
    factor: float


def tables(comparison: Comparison) -> list[Shown]:
    """Return what is worth showing: all stages, and other parts that differ for sure."""
    unit = unit_of(max(comparison.base_s, comparison.other_s))
    per = f"per {comparison.base.unit.value}"
    shown = [row for row in comparison.rows if row.part.kind is Kind.STAGE or row.difference.is_sure]
    times = [row for row in shown if row.part.kind not in (Kind.CROSSINGS, Kind.CAUSE)]
    counts = [row for row in shown if row.part.kind is Kind.CROSSINGS]
    found = [
        Shown(f"Stages, and other parts that differ for sure, in {unit.name} {per}", times, unit.per_second),
        Shown(f"How often the run went from one layer into another {per}", counts, 1.0),
        _causes(comparison),
    ]
    return [table for table in found if table.rows]


def _causes(comparison: Comparison) -> Shown:
    """Return where the time of whole runs went: the longest causes, and those that differ for sure."""
    causes = [row for row in comparison.rows if row.part.kind is Kind.CAUSE]
    longest_s = max((max(row.difference.base, row.difference.other) for row in causes), default=0.0)
    unit, wall_s = unit_of(longest_s), sum(row.difference.base + row.difference.other for row in causes)
    shown = [
        row
        for row in causes
        if row.difference.is_sure or row.difference.base + row.difference.other >= LEAST_CAUSE * wall_s
    ]
    return Shown(f"Where the time went, in {unit.name} per run", shown, unit.per_second)


def changed_findings(comparison: Comparison) -> dict[str, dict[str, str]]:
    """Return what rules found on one side alone, by their codes: `new` on the second, `gone` of the first."""
    base, other = comparison.base.findings, comparison.other.findings
    return {
        "new": {code: other[code] for code in other.keys() - base.keys()},
        "gone": {code: base[code] for code in base.keys() - other.keys()},
    }


def findings_sentences(comparison: Comparison) -> list[str]:
    """Say what rules found on one side alone."""
    changed = changed_findings(comparison)
    return [
        f"{word.capitalize()}: {code} {changed[word][code]}"
        for word in ("new", "gone")
        for code in sorted(changed[word])
    ]


def part_name(part: Part) -> str:
    """Return what a part is called beside others."""
    if part.kind is Kind.CAUSE:
        return part.cause
    if part.kind is Kind.DEVICE:
        return f"device {part.device} busy"
    if part.kind is Kind.CROSSINGS:
        return "crossings between layers"
    stage = "(no stage)" if part.stage == NO_OPERATION else part.stage
    operation = "" if part.operation in (NO_OPERATION, part.stage) else part.operation
    return " / ".join(filter(None, (stage, operation, part.function or part.category)))


def _counted(comparison: Comparison) -> str:
    base, other = (side.count(comparison.repeated) for side in (comparison.base, comparison.other))
    if comparison.repeated == RUNS:
        return f"in {other} runs against {base}"
    if comparison.base.unit in (Unit.LOOP, Unit.RUN):
        return f"in {_runs(other)} against {base}"
    return f"within these runs of {other:,} and {base:,} iterations"


def _runs(count: int) -> str:
    return "one run" if count == 1 else f"{count} runs"


def _what_would_suffice(comparison: Comparison) -> str:
    """Say how many repetitions would show the smallest change that is one.

    The interval is as wide as Student's t times the scatter over the root of their number, and t falls with it.
    """
    repeated, limit = comparison.repeated, digits(comparison.same_percent)
    count = needed = comparison.change.repetitions
    degrees = degrees_of(*(side.whole(repeated) for side in (comparison.base, comparison.other))) or 1.0
    half = ((comparison.change.high or 0.0) - (comparison.change.low or 0.0)) / 2
    scatter = half * math.sqrt(count) / errors_at(CONFIDENCE_PERCENT / 100, degrees)

    def half_of(number: int) -> float:
        more = degrees * (number - 1) / (count - 1)
        return errors_at(CONFIDENCE_PERCENT / 100, more) * scatter / math.sqrt(number)

    while needed < MOST_ADVISED and half_of(needed) > comparison.same_percent:
        needed += max(needed // 100, 1)
    if needed >= MOST_ADVISED:
        return f"To see {limit} %, more {repeated} than are worth recording would be needed."
    return f"To see {limit} %, record about {needed:,} {repeated} of each side."


def _of_stage(comparison: Comparison, row: Row) -> str:
    """Say how a stage differs, and in which of its layers and functions most of that is."""
    value = row.difference.value
    near, far = sorted((abs(row.difference.low), abs(row.difference.high)))
    more = "more" if value > 0 else "less"
    inside = filter(None, (_most(comparison.sure(kind), row) for kind in (Kind.LAYER, Kind.FUNCTION)))
    within = [
        f"{duration(abs(each.difference.value))} in {each.part.function or each.part.category}" for each in inside
    ]
    of_it = f"; of it {', '.join(within)}" if within else ""
    name = part_name(row.part)
    return f"{name[:1].upper()}{name[1:]} takes {duration(abs(value))} {more} {duration_ends(value, near, far)}{of_it}."


def _most(rows: Sequence[Row], stage: Row) -> Row | None:
    """Return the row within a stage that changed most in the direction in which the stage did."""
    inside = [row for row in rows if row.part.stage == stage.part.stage]
    found = max(inside, key=lambda row: row.difference.value * stage.difference.value, default=None)
    return found if found is not None and found.difference.value * stage.difference.value > 0 else None
