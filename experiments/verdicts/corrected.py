"""This file analyzes recorded runs without what recording added, and says what their times include beside that."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.correction.corrected import AppliedCorrection, Correction
from rlscope.calibration.calibration import AUTO, chosen
from rlscope.errors import UsageError
from rlscope.page.plain_page import Page
from rlscope.report.sentences import added_text
from rlscope.text.numbers import percent
from rlscope.trace.reader import Trace, open_trace


class RecordedRun(Protocol):
    """An analysis, or what a study makes of one."""

    @property
    def no_core_share(self) -> float | None:
        """Return the share of its time in which it waited for a core, from 0 to 1."""

    @property
    def correction(self) -> AppliedCorrection | None:
        """Return how its times were corrected; None if they were not."""

    @property
    def uncorrected(self) -> str:
        """Return why they were not; empty if they were."""


@dataclass(frozen=True)
class Caveats:
    """This says what judged times include that is not the program's own.

    Attributes:
        times: why any time of the runs includes what recording added; empty if none does.
        cuda: the same of time inside CUDA calls, where recording adds most.
        no_core_share: the largest share of a run's time in which it waited for a core, from 0 to 1; None if not known.
    """

    times: str = ""
    cuda: str = ""
    no_core_share: float | None = 0.0

    @property
    def most_changed(self) -> float:
        """Return by which share of what is right a time may be too long: without 1/3 of it, by half; 0 if unknown."""
        if self.no_core_share is None:
            return 0.0
        return self.no_core_share / (1 - self.no_core_share) if self.no_core_share < 1 else math.inf


#: Judged times are the program's own.
NO_CAVEATS = Caveats()


def analyzed(directory: Path) -> Analysis:
    """Return a trace, analyzed as `rlscope analyze` does; uncorrected where its calibration is of something else."""
    trace = open_trace(directory)
    return analyze(trace, correction=correction_for(trace))


def correction_for(trace: Trace) -> Correction | str:
    """Return how to correct a trace, or why it is not: there is no calibration, or it is of something else."""
    try:
        return chosen(trace, AUTO)
    except UsageError as error:
        return str(error)


def corrected_text(found: Iterable[str]) -> str:
    """Return whether rows of repetitions are corrected, for their mean: "yes", "no" or "partly"."""
    texts = set(found)
    return texts.pop() if len(texts) == 1 else "partly"


def caveats_of(runs: Sequence[RecordedRun]) -> Caveats:
    """Return what the times of some runs include that is not the programs' own."""
    times = " ".join(dict.fromkeys(run.uncorrected for run in runs if run.correction is None))
    unknown = sum(run.correction.uncalibrated.get("cuda", 0) for run in runs if run.correction)
    cuda = f"what recording adds to a CUDA call is not known ({unknown:,} calls); run `rlscope calibrate` there"
    share = most_no_core(run.no_core_share for run in runs)
    return Caveats(times, times or (cuda if unknown else ""), share)


def most_no_core(shares: Iterable[float | None]) -> float | None:
    """Return the largest share of time without a core that is known of some runs; None if none is."""
    return max((share for share in shares if share is not None), default=None)


def no_core_text(share: float | None) -> str:
    """Say in a sentence what share of a run's time at most was without a core."""
    known = "an unknown share" if share is None else f"up to {percent(share)}"
    return f"Recorded runs waited for a core for {known} of their time"


def add_correction(page: Page, runs: Sequence[RecordedRun]) -> None:
    """Say how much was subtracted, or why nothing was, and how long runs had no core: sentences on a study's page."""
    applied = sorted((run.correction for run in runs if run.correction), key=lambda found: found.added_percent)
    if applied:
        least, most = added_text(applied[0]), added_text(applied[-1])
        added = least if least == most else f"{least} to {most}"
        page.paragraph(
            f"Times that RL-Scope has recorded are without what recording added: {added}, which is subtracted. In "
            "parentheses is the interval of 95 % of the calibration. CSV files have the uncorrected times beside."
        )
        for source in dict.fromkeys(found.source for found in applied):
            page.paragraph(f"Calibration: {source}.")
        for note in dict.fromkeys(note for found in applied for note in found.notes):
            page.paragraph(f"{note[0].upper()}{note[1:]}.")
    if runs:
        page.paragraph(f"{no_core_text(caveats_of(runs).no_core_share)}.")
    for why in dict.fromkeys(run.uncorrected for run in runs if run.correction is None):
        page.warning(f"Times include what recording added: {why}.")


def add_what_stays(page: Page, runs: Sequence[RecordedRun]) -> None:
    """Say what recording added to times on a page that are as recorded: those of phases, which no correction knows."""
    added = dict.fromkeys(f"{added_text(run.correction)} to {run.correction.process}" for run in runs if run.correction)
    known = ", ".join(added) or "how much is not known without a calibration"
    page.paragraph(f"Phases are as they were recorded, with what recording added: {known}.")
