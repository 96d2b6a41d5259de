"""This file puts a comparison into sentences: the verdict, where the difference is, and what a gate says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from rlscope.analysis.account.account import public_name
from rlscope.analysis.account.causes import Cause
from rlscope.compare.comparison import Comparison, Row, Word
from rlscope.compare.counts import CountRow
from rlscope.compare.differences import degrees_of
from rlscope.compare.estimate import CONFIDENCE_PERCENT, RUNS, errors_at
from rlscope.compare.parts import Kind, Part
from rlscope.compare.run_times import Unit
from rlscope.model import NO_OPERATION
from rlscope.text.numbers import change, digits, duration, duration_ends, in_percent, percent, percent_ends, unit_of

#: More repetitions are not worth counting out.
MOST_ADVISED = 100_000
#: Causes with less of what the program did in its loop are shown only if they differ for sure.
LEAST_CAUSE = 0.05
#: What is done before the loop, and what the machine does: beside these a cause of the program may be small.
AROUND = (Cause.STARTING_UP.words, Cause.NO_CORE.words)
#: Counts are shown that differ by more than so many percent, and so many that are not all of their kind.
LEAST_COUNTED, MOST_COUNTS = 1.0, 8


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


def verdict(comparison: Comparison) -> str:
    """Say in a few sentences what changed, and where."""
    sentences = [f"{headline(comparison)}."]
    if comparison.word is Word.UNCLEAR and comparison.change.has_interval:
        sentences.append(_what_would_suffice(comparison))
    if any(row.difference.has_interval for row in comparison.rows):
        stages = [_of_stage(comparison, row) for row in comparison.sure(Kind.STAGE)]
        no_other = "No other stage differs" if stages else "No stage differs"
        sentences += [*stages, f"{no_other} for sure."]
    sentences += _of_cause(comparison, is_stage_told=bool(comparison.sure(Kind.STAGE)))
    sentences += _of_counts(comparison)
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
    least_s = LEAST_CAUSE * max(comparison.base_s, comparison.other_s)
    shown = [row for row in comparison.rows if row.part.kind is Kind.STAGE or _is_told(row, least_s)]
    times = [row for row in shown if row.part.kind is not Kind.CAUSE]
    others = "that differ for sure" if comparison.change.has_interval else "that differ most"
    found = [
        Shown(f"Stages, and other parts {others}, in {unit.name} {per}", times, unit.per_second),
        _causes(comparison),
    ]
    return [table for table in found if table.rows]


def changed_counts(comparison: Comparison) -> list[CountRow]:
    """Return the counts that differ: all of a kind, then of what is counted in one place those that differ most."""
    found = [row for row in comparison.counts if row.differs_by(LEAST_COUNTED)]
    return [row for row in found if not row.count.name] + [row for row in found if row.count.name][:MOST_COUNTS]


def _causes(comparison: Comparison) -> Shown:
    """Return where the time of whole runs went: the longest causes, and those that differ for sure."""
    causes = [row for row in comparison.rows if row.part.kind is Kind.CAUSE]
    longest_s = max((max(row.difference.base, row.difference.other) for row in causes), default=0.0)
    unit, least_s = unit_of(longest_s), _least_cause_s(causes)
    shown = [
        row for row in causes if row.difference.is_sure or max(row.difference.base, row.difference.other) >= least_s
    ]
    return Shown(f"Where the time went, in {unit.name} per run", shown, unit.per_second)


def _least_cause_s(causes: Sequence[Row]) -> float:
    """Return how long a cause is to be to be shown where nothing says how sure it is."""
    of_program = [row.difference for row in causes if row.part.cause not in AROUND]
    return LEAST_CAUSE * max(sum(each.base for each in of_program), sum(each.other for each in of_program))


def _is_told(row: Row, least_s: float) -> bool:
    """Return whether a part differs for sure, or, where nothing says how sure that is, by so much."""
    found = row.difference
    return found.is_sure if found.has_interval else abs(found.value) >= least_s


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
    stage = "(no stage)" if part.stage == NO_OPERATION else part.stage
    operation = "" if part.operation in (NO_OPERATION, part.stage) else part.operation
    return " / ".join(filter(None, (stage, operation, part.function or part.category)))


def _counted(comparison: Comparison) -> str:
    base, other = (side.count(comparison.repeated) for side in (comparison.base, comparison.other))
    if comparison.repeated == RUNS:
        return f"in {other} runs against {base}"
    if comparison.base.unit in (Unit.LOOP, Unit.RUN) or not comparison.change.has_interval:
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
    value, low, high = row.difference.value, row.difference.low, row.difference.high
    near, far = sorted((abs(low or 0.0), abs(high or 0.0)))
    more = "more" if value > 0 else "less"
    inside = filter(None, (_most(comparison.sure(kind), row) for kind in (Kind.LAYER, Kind.FUNCTION)))
    within = [
        f"{duration(abs(each.difference.value))} in {each.part.function or each.part.category}" for each in inside
    ]
    of_it = f"; of it {', '.join(within)}" if within else ""
    name = part_name(row.part)
    return f"{name[:1].upper()}{name[1:]} takes {duration(abs(value))} {more} {duration_ends(value, near, far)}{of_it}."


def _of_cause(comparison: Comparison, is_stage_told: bool) -> list[str]:
    """Say for which cause whole runs went longer or shorter, in the direction in which they changed, and where.

    Where a stage is told already the cause must say more: at which line.
    """
    sign = 1 if comparison.change.value > 0 else -1
    causes = [row for row in comparison.rows if row.part.kind is Kind.CAUSE]
    told = [row for row in causes if _is_told(row, _least_cause_s(causes)) and row.difference.value * sign > 0]
    of_program = [row for row in told if row.part.cause not in AROUND]
    found = of_program or [row for row in told if row.part.cause == Cause.NO_CORE.words]
    row = max(found, key=lambda row: row.difference.value * sign, default=None)
    if row is None:
        return []
    value = row.difference.value
    where = (comparison.other if value > 0 else comparison.base).where(row.part.cause)
    more = "more" if value > 0 else "less"
    place = f" ({where})" if where else ""
    if is_stage_told and not where:
        return []
    return [f"Of whole runs {row.part.cause} takes {duration(abs(value))} {more}{place}."]


def _of_counts(comparison: Comparison) -> list[str]:
    """Say of what one side counts more: of one place that which differs most, else of all of a kind."""
    found = [row for row in comparison.counts if row.differs_by(comparison.same_percent)]
    row = next((row for row in found if row.count.name), next(iter(found), None))
    return [] if row is None else [f"Counted per {comparison.other.unit.value}: {count_words(row)}."]


def count_words(row: CountRow) -> str:
    """Say of what both sides count how much: `calls of torch.addmm in backpropagation 64 instead of 32`."""
    base, other = row.means
    of = f" of {public_name(row.count.name)}" if row.count.name else ""
    stage = f" in {row.count.stage}" if row.count.stage not in ("", row.count.name, NO_OPERATION) else ""
    return f"{row.count.counted.value}{of}{stage} {digits(other)} instead of {digits(base)}"


def _most(rows: Sequence[Row], stage: Row) -> Row | None:
    """Return the row within a stage that changed most in the direction in which the stage did."""
    inside = [row for row in rows if row.part.stage == stage.part.stage]
    found = max(inside, key=lambda row: row.difference.value * stage.difference.value, default=None)
    return found if found is not None and found.difference.value * stage.difference.value > 0 else None
