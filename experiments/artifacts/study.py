"""This file describes a case study among others: its name, what draws it, and when it can be drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from experiments.command_line import Outcome, run_study
from experiments.harness.case_study import CaseStudy
from experiments.harness.progress import Recorded, StudyRun


@dataclass(frozen=True)
class Study:
    """A case study as it appears on the page.

    Attributes:
        title: for people.
        folder: of the study, with its runs.toml.
        run: draws and judges what its runs have left.
        measures: whether drawing it measures something as well. Then it has to wait until nothing is recorded.
    """

    title: str
    folder: Path
    run: Callable[[CaseStudy], Outcome]
    measures: bool = False


@dataclass(frozen=True)
class PlannedStudy:
    """A study at a budget.

    Attributes:
        about: what it is.
        case: what of it is run, and where its results go.
    """

    about: Study
    case: CaseStudy

    @cached_property
    def runs(self) -> Sequence[StudyRun]:
        """Return all runs that it records."""
        return self.case.runs()

    def repetitions_ended(self, recorded: Recorded) -> int:
        """Return how many repetitions of all its workloads have ended, well or not."""
        open_ones = [run.repetition for run in self.runs if recorded.is_open(run)]
        return min(open_ones, default=self.case.repetitions_of_each)


def draw(study: PlannedStudy, recorded: Recorded) -> Outcome:
    """Draw and judge a study from the runs that there are.

    Raises:
        RLScopeError: There is nothing to draw, or a trace cannot be analyzed.
    """
    return run_study(replace(study.case, recorder=Known(recorded)), study.about.run)


@dataclass(frozen=True)
class Known:
    """Answers a study that asks for its runs with what has become of them."""

    recorded: Recorded

    def __call__(self, runs: Sequence[StudyRun]) -> Recorded:
        """Return what has become of all runs."""
        return self.recorded
