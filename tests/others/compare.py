"""Runs a suite plain and recorded, and says what differs and what is flaky: what differs between two plain runs."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from outcomes import EXIT_STATUS, Outcomes, differences
from run import Run
from suites import Suite


@dataclass(frozen=True)
class Compared:
    """A suite, its first plain and its first recorded run, and what more runs have shown.

    Attributes:
        plain, recorded: the runs.
        flaky: names of what plain runs do not agree on.
        different: by name, what plain runs agree on and what recorded came to.
    """

    suite: Suite
    plain: Run
    recorded: Run
    flaky: tuple[str, ...]
    different: dict[str, tuple[str, str]]

    @property
    def complaint(self) -> str:
        """Why this is no evidence that recording breaks nothing; empty if it is."""
        for expected in self.suite.saved or ("",):
            if not any(name.startswith(expected) for name in self.plain.outcomes if name != EXIT_STATUS):
                return f"expected outcomes{expected and f' of {expected}'}, found none: {self.plain.log} shows why"
        if not self.recorded.processes:
            return f"expected a recorded process, found none: {self.recorded.log} shows why"
        if self.different:
            return f"expected the same with recording, found {len(self.different)} that differ: {self.recorded.log}"
        return ""

    def row(self) -> tuple[str, ...]:
        """Its line in the table."""
        return (
            self.suite.name,
            str(len(self.plain.outcomes) - 1),
            summary(self.plain.outcomes),
            summary(self.recorded.outcomes),
            f"{self.plain.seconds:.0f}",
            f"{self.recorded.seconds:.0f}",
            str(self.recorded.processes),
            str(len(self.flaky)),
            str(len(self.different)),
        )


HEAD = ("suite", "outcomes", "plain", "recorded", "plain s", "recorded s", "processes", "flaky", "differ")


def compare(suite: Suite, run: Callable[[bool], Run]) -> Compared:
    """Runs a suite plain and recorded, and where they differ plain once more.

    Args:
        suite: what is compared.
        run: runs it once; is told whether to record.
    """
    plain, recorded = run(False), run(True)
    found = differences(plain.outcomes, recorded.outcomes)
    flaky = differences(plain.outcomes, run(False).outcomes) if found else {}
    # What a run exits with follows from its tests.
    if flaky and found.keys() - {EXIT_STATUS} <= flaky.keys():
        flaky.setdefault(EXIT_STATUS, ("", ""))
    return Compared(
        suite, plain, recorded, tuple(flaky), {name: pair for name, pair in found.items() if name not in flaky}
    )


def summary(outcomes: Outcomes) -> str:
    """How many of each outcome there are, as "3 passed, 1 skipped"; of digests and lines, that there are so many."""
    kinds = Counter(kind_of(name, outcome) for name, outcome in outcomes.items() if name != EXIT_STATUS)
    counts = [f"{count} {kind}" for kind, count in sorted(kinds.items())]
    return ", ".join([*counts, f"exit {outcomes[EXIT_STATUS]}"])


def kind_of(name: str, outcome: str) -> str:
    """What an outcome is counted as."""
    return "printed" if name.startswith("line ") else "saved" if len(outcome) == 64 else outcome
