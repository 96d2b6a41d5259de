"""This file compares two sides: how long they take, in which parts they differ, and a verdict in one word."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from rlscope.compare.counts import CountRow, compared_counts
from rlscope.compare.differences import Difference, differences
from rlscope.compare.estimate import FEWEST, ITERATIONS, RUNS, Estimate, half_width
from rlscope.compare.parts import Kind, Part, compared_causes, compared_parts
from rlscope.compare.sides import Side

#: A change is no change where all of its interval is within so much.
SAME_PERCENT = 2.0
#: The chance that any part seems to differ where none does: half of it for stages, half for all other parts.
CHANCE = 0.05


class Word(str, Enum):
    """The verdict in one word."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Row:
    """A part, and how much more of it the other side has."""

    part: Part
    difference: Difference


@dataclass(frozen=True)
class Comparison:
    """A comparison says what changed from the base to the other side.

    Attributes:
        base: What is compared with.
        other: What is compared.
        repeated: RUNS, or ITERATIONS where a side has fewer than three runs.
        base_s: How long an iteration of the base takes, or what else the unit of the sides is.
        other_s: How long one of the other side takes.
        change: How much longer that is, in percent; without an interval where a side has fewer than three values.
        corrected_percent: The same without what recording added; None if that is not known of all runs.
        word: The verdict.
        same_percent: Sides that differ by less for sure are the same.
        rows: The parts that were compared, by kind, and of each kind the largest difference first.
        counts: What runs count: all of each kind, and then what differs most.
    """

    base: Side
    other: Side
    repeated: str
    base_s: float
    other_s: float
    change: Estimate
    corrected_percent: float | None
    word: Word
    same_percent: float
    rows: tuple[Row, ...]
    counts: tuple[CountRow, ...]

    @property
    def is_turned_by_correction(self) -> bool:
        """Return whether without the cost of recording the other side would be the faster one."""
        return self.corrected_percent is not None and self.corrected_percent * self.change.value < 0

    def sure(self, *kinds: Kind) -> list[Row]:
        """Return the rows of these kinds that differ for sure."""
        return [row for row in self.rows if row.part.kind in kinds and row.difference.is_sure]


def compare(base: Side, other: Side, same_percent: float = SAME_PERCENT) -> Comparison:
    """Compare two sides, whose times have the same unit.

    What is repeated are runs where both sides have three of them: then intervals hold how runs differ. Else it is
    iterations, and intervals are within these runs.
    """
    repeated = RUNS if min(len(base.runs), len(other.runs)) >= FEWEST else ITERATIONS
    sides = base, other
    means = {place: side.mean_s(repeated) for place, side in enumerate(sides)}
    value, half = _percent(means), None
    fewest = min(side.count(repeated) for side in sides)
    if fewest >= FEWEST:
        half = half_width({place: side.whole(repeated) for place, side in enumerate(sides)}, _percent, means)
    low, high = (None, None) if half is None else (value - half, value + half)
    change = Estimate(value, low, high, fewest, repeated)
    corrected = None
    if all(run.corrected is not None for side in sides for run in side.runs):
        corrected = _percent({place: side.mean_s(repeated, is_corrected=True) for place, side in enumerate(sides)})
    rows = _rows(base, other, None if half is None else repeated)
    counts = tuple(compared_counts(base.counts(), other.counts()))
    found = Comparison(
        base, other, repeated, means[0], means[1], change, corrected, Word.UNCLEAR, same_percent, rows, counts
    )
    return found if found.is_turned_by_correction else replace(found, word=_word(change, same_percent))


def _percent(means: Mapping[int, float]) -> float:
    """Return how much longer the other side (1) takes than the base (0), in percent."""
    return 100 * (means[1] / means[0] - 1)


def _word(change: Estimate, same_percent: float) -> Word:
    if change.low is None or change.high is None:
        return Word.UNCLEAR
    if -same_percent <= change.low and change.high <= same_percent:
        return Word.SAME
    if change.low > 0:
        return Word.SLOWER
    return Word.FASTER if change.high < 0 else Word.UNCLEAR


def _rows(base: Side, other: Side, repeated: str | None) -> tuple[Row, ...]:
    """Compare the parts of two sides. What is not repeated has no interval: devices and causes are of whole runs.

    Args:
        base: What is compared with.
        other: What is compared.
        repeated: What is: RUNS, ITERATIONS, or None for nothing.
    """
    runs = [*base.runs, *other.runs]
    parts = compared_parts(runs)
    of_runs = [Part(Kind.DEVICE, device=device) for device in sorted({each for run in runs for each in run.busy_s})]
    of_runs += compared_causes(runs)
    if repeated == RUNS:
        parts, of_runs = [*parts, *of_runs], []
    elif repeated is None:
        parts, of_runs = [], [*parts, *of_runs]
    groups = [side.parts(parts, repeated) if repeated else {} for side in (base, other)]
    pairs = {part: (groups[0][part], groups[1][part]) for part in parts}
    stages = {part: pair for part, pair in pairs.items() if part.kind is Kind.STAGE}
    others = {part: pair for part, pair in pairs.items() if part.kind is not Kind.STAGE}
    found = differences(stages, CHANCE / 2) | differences(others, CHANCE / 2)
    means = [side.part_means(of_runs) for side in (base, other)]
    for part in of_runs:
        found[part] = Difference(means[0][part], means[1][part], means[1][part] - means[0][part], None, None)
    order = {kind: place for place, kind in enumerate(Kind)}
    rows = [Row(part, each) for part, each in found.items()]
    return tuple(sorted(rows, key=lambda row: (order[row.part.kind], -abs(row.difference.value))))
