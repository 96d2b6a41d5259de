"""This file says of undecided verdicts what would decide them: how many repetitions, in how many minutes, or hardware.

The number of repetitions is fixed before they are run: it follows from how far those scatter that there are, and who
runs as many looks at the result once. Going on until a claim is decided would decide too many wrongly.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from experiments.harness.case_study import CaseStudy, hardware
from experiments.verdicts.claims import NO_CORE, UNDECIDED, Claim, Verdict
from experiments.verdicts.kept_verdicts import MEASURED, has_gpu, read_kept, verdicts_in
from experiments.verdicts.statistics import CONFIDENCE_PERCENT, FEWEST, RUNS, Estimate
from rlscope.compare.estimate import errors_at

#: More repetitions than these are not worth a plan.
MOST = 1000


def repetitions_to_decide(claim: Claim, estimate: Estimate) -> int | None:
    """Return how many repetitions give an interval that ends before the nearest limit, if they scatter as these did
    around the same value; FEWEST where there is no interval yet; None where not even MOST do.
    """
    if estimate.low is None or estimate.high is None:
        return FEWEST
    value, now = estimate.value, estimate.repetitions
    nearest = min((limit for limit in (claim.above, claim.below) if limit is not None), key=lambda x: abs(x - value))
    reach = value - estimate.low if nearest < value else estimate.high - value
    in_errors = reach / relative_width(now) if now >= FEWEST else math.inf
    found = (number for number in range(now + 1, MOST + 1) if in_errors * relative_width(number) < abs(nearest - value))
    return next(found, None)


def relative_width(repetitions: int) -> float:
    """Return half the width of an interval, in standard deviations of a repetition."""
    return errors_at(CONFIDENCE_PERCENT / 100, repetitions - 1) / math.sqrt(repetitions)


def deciding(verdicts: Sequence[Verdict], study: CaseStudy) -> list[Verdict]:
    """Return the verdicts, with what would decide the undecided ones in their remarks."""
    return [
        replace(verdict, remark="; ".join(filter(None, [verdict.remark, decider(verdict, study)])))
        if verdict.verdict == UNDECIDED
        else verdict
        for verdict in verdicts
    ]


def decider(verdict: Verdict, study: CaseStudy) -> str:
    """Return what would decide an undecided verdict; empty where its remark says it."""
    claim, estimate = verdict.claim, verdict.measured
    if NO_CORE in verdict.remark:
        return "a machine that does nothing else would decide it"
    if estimate is None or claim.verdict_on(estimate) != UNDECIDED:
        return ""
    number = repetitions_to_decide(claim, estimate)
    if number is None:
        return f"not even {MOST} {estimate.unit} would decide it"
    minutes = math.ceil(minutes_of(study, of_study(study, estimate, number)))
    place = "on that machine" if is_elsewhere(claim) else f"in {minutes} minutes on two cores at rest"
    return f"about {number} {estimate.unit} would decide it, {place}"


def is_elsewhere(claim: Claim) -> bool:
    """Return whether only another machine can repeat what a claim is about."""
    return claim.hardware == "gpu" and hardware() != "gpu"


def of_study(study: CaseStudy, estimate: Estimate, number: int) -> int:
    """Return how often a study has to be repeated for a number of what an estimate is of: runs, say, or iterations."""
    if estimate.unit == RUNS:
        return number
    return math.ceil(number * study.repetitions_of_each / max(1, estimate.repetitions))


def minutes_of(study: CaseStudy, repetitions: int) -> float:
    """Return how long so many repetitions of a study take."""
    budget = study.matrix.budget(study.budget)
    return budget.minutes / budget.repetitions * repetitions


def undecided(study: CaseStudy) -> list[Verdict]:
    """Return what was undecided in the study's last results on such a machine: those in its output, or else those that
    are kept.
    """
    kept = sorted((study.folder / MEASURED).glob("*/claims.json"))
    paths = [path for path in [study.output / "claims.json"] if path.exists()] or kept
    contents = [(path, read_kept(path)) for path in paths]
    return [
        verdict
        for path, found in contents
        if has_gpu(found["hardware"]) == (hardware() == "gpu")
        for verdict in verdicts_in(found, path)
        if verdict.verdict == UNDECIDED
    ]


def plan(study: CaseStudy) -> list[str]:
    """Return a sentence for each claim that was undecided, on what would decide it."""
    return [
        f"{verdict.claim.id} ({verdict.subject}) is undecided ({verdict.measured_text}): {said}"
        for verdict in undecided(study)
        if (said := decider(verdict, study))
    ]


def repetitions_within(study: CaseStudy, minutes: float) -> int:
    """Return how often to repeat a study: as often as decides all that was undecided and can be decided here in these
    minutes, if it scatters as it did; at least as often as the budget says.
    """
    found = [study.repetitions_of_each]
    for verdict in undecided(study):
        claim, estimate = verdict.claim, verdict.measured
        if estimate and claim.verdict_on(estimate) == UNDECIDED and not is_elsewhere(claim):
            number = repetitions_to_decide(claim, estimate)
            found += [of_study(study, estimate, number)] if number else []
    return max(number for number in found if number == found[0] or minutes_of(study, number) <= minutes)
