"""A gate decides whether a change is let by: by the time it takes, by what it counts, or by both."""

from dataclasses import dataclass

from rlscope.compare.comparison import Comparison
from rlscope.compare.counts import CountRow
from rlscope.compare.estimate import FEWEST
from rlscope.compare.verdict import count_words, interval_text
from rlscope.errors import UsageError
from rlscope.text.numbers import digits

#: Exit statuses: nothing is above its limit, something is, or neither can be said.
PASSED, ABOVE, UNDECIDED = 0, 1, 3


@dataclass(frozen=True)
class Gate:
    """The limits of a gate; without any, all is let by.

    Attributes:
        time: By so many percent the other side may be slower.
        counts: By so many percent it may count more.
    """

    time: float | None = None
    counts: float | None = None

    @property
    def decides(self) -> bool:
        """Return whether there is a limit."""
        return self.time is not None or self.counts is not None

    def status(self, comparison: Comparison) -> int:
        """Return the exit status: 1 if anything is above its limit, else 3 if the time is undecided, else 0.

        Raises:
            UsageError: a side has too few runs to decide about times.
        """
        statuses = {PASSED if self.time is None else time_status(comparison, self.time)}
        statuses |= {ABOVE} if self.counts is not None and counts_above(comparison, self.counts) else set()
        return ABOVE if ABOVE in statuses else max(statuses)

    def sentences(self, comparison: Comparison) -> list[str]:
        """Say what it decides, and why."""
        said = [] if self.time is None else [_time_sentence(comparison, self.time)]
        return said if self.counts is None else [*said, _counts_sentence(comparison, self.counts)]


def time_status(comparison: Comparison, limit: float) -> int:
    """Return the status by time alone.

    It is 1 if the other side is slower by more than `limit` percent for sure, 3 if that can be neither shown nor
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
    if comparison.is_turned_by_correction or low <= limit < high:
        return UNDECIDED
    return ABOVE if low > limit else PASSED


def counts_above(comparison: Comparison, limit: float) -> list[CountRow]:
    """Return what the other side counts more of, of all of a kind, in each of its runs by more than `limit` percent.

    Raises:
        UsageError: nothing was counted, as in runs that were only timed.
    """
    if not comparison.counts:
        raise UsageError(
            "--fail-above-counts needs recorded runs, but these were only timed: rlscope bench without --time"
        )
    return [row for row in comparison.counts if not row.count.name and row.is_above(limit)]


def _time_sentence(comparison: Comparison, limit: float) -> str:
    more, interval = f"more than {digits(limit)} %", interval_text(comparison)
    return {
        PASSED: f"Passed: {comparison.other.name} is not slower by {more}: {interval}.",
        ABOVE: f"Failed: {comparison.other.name} is slower by {more} for sure: {interval}.",
        UNDECIDED: f"Undecided: whether {comparison.other.name} is slower by {more} is neither shown nor excluded: "
        f"{interval}. Record more runs.",
    }[time_status(comparison, limit)]


def _counts_sentence(comparison: Comparison, limit: float) -> str:
    above = "; ".join(count_words(row) for row in counts_above(comparison, limit))
    more = f"more than {digits(limit)} %"
    if above:
        return f"Failed: {comparison.other.name} counts more by {more}: {above}."
    return f"Passed: {comparison.other.name} counts nothing more by {more}."
