"""Judge published claims by what was measured: holds, differs, or not testable here."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas

from experiments.case_study import read_toml
from experiments.statistics import Estimate
from rlscope.errors import UsageError
from rlscope.plots.tables import markdown

HOLDS, DIFFERS, NOT_TESTABLE = "holds", "differs", "not testable here"


@dataclass(frozen=True)
class Claim:
    """A statement with a number that a re-run can test; an entry of claims.toml.

    Attributes:
        id: of the claim; several entries may test one claim.
        statement: what was claimed.
        metric: name of the measurement.
        definition: how the measurement is made.
        published: the published numbers, for people.
        hardware: what the measurement needs: gpu, or cpu for what any run shows.
        may_differ: why a re-run may legitimately find something else.
        above: the claim holds if the measurement exceeds this; either this or `below` is given.
        below: the claim holds if the measurement is less than this.
        subject: the one that the claim is about; empty if it is about each.
    """

    id: str
    statement: str
    metric: str
    definition: str
    published: str
    hardware: str
    may_differ: str
    above: float | None = None
    below: float | None = None
    subject: str = ""

    def __post_init__(self) -> None:
        if (self.above is None) == (self.below is None):
            raise UsageError(f"claims.toml: {self.id}, {self.metric}: expected one limit, `above` or `below`")

    @property
    def limit(self) -> float:
        """The value that separates holding from differing."""
        limit = self.above if self.above is not None else self.below
        assert limit is not None
        return limit

    @property
    def condition(self) -> str:
        """The limit for people: "> 2"."""
        return f"{'>' if self.above is not None else '<'} {self.limit:g}"

    def holds_for(self, value: float) -> bool:
        """Whether a measured value is on the right side of the limit."""
        return value > self.limit if self.above is not None else value < self.limit


@dataclass(frozen=True)
class Verdict:
    """What became of a claim for one subject (an environment, say)."""

    claim: Claim
    subject: str
    verdict: str
    measured: Estimate | None
    provisional: bool
    remark: str


def load_claims(path: Path) -> list[Claim]:
    """The claims of a study."""
    return [Claim(**entry) for entry in read_toml(path)["claim"]]


def judge(
    claims: Sequence[Claim],
    measured: Mapping[str, Mapping[str, Estimate]],
    hardware: str,
    provisional: bool,
    left_out: bool = False,
) -> list[Verdict]:
    """Judge every claim for every subject that it is about.

    Args:
        claims: what to judge.
        measured: subject to metric to estimate.
        hardware: what the runs used.
        provisional: whether the budget was too small to rely on the verdicts.
        left_out: whether workloads are missing, and with them the metrics that need them.
    """
    return [
        judge_one(claim, subject, estimates, hardware, provisional, left_out)
        for claim in claims
        for subject, estimates in measured.items()
        if claim.subject in ("", subject)
    ]


def judge_one(
    claim: Claim, subject: str, estimates: Mapping[str, Estimate], hardware: str, provisional: bool, left_out: bool
) -> Verdict:
    """Judge one claim for one subject by the value measured; an interval across the limit is remarked on."""
    if claim.hardware == "gpu" and hardware != "gpu":
        remark = f"needs {claim.hardware.upper()} runs, these used the {hardware.upper()}"
        return Verdict(claim, subject, NOT_TESTABLE, None, provisional, remark)
    if claim.metric not in estimates and left_out:
        return Verdict(claim, subject, NOT_TESTABLE, None, provisional, "needs a workload that was left out")
    if claim.metric not in estimates:
        raise UsageError(
            f"claims.toml: {claim.id} expects the metric {claim.metric}, this study measures {', '.join(estimates)}"
        )
    estimate = estimates[claim.metric]
    verdict = HOLDS if claim.holds_for(estimate.value) else DIFFERS
    remarks = [] if verdict == HOLDS else [claim.may_differ]
    if estimate.low <= claim.limit <= estimate.high:
        remarks.append("the interval reaches across the limit")
    return Verdict(claim, subject, verdict, estimate, provisional, "; ".join(remarks))


def claims_table(verdicts: Sequence[Verdict]) -> pandas.DataFrame:
    """The verdicts for people: one row each."""
    return pandas.DataFrame(
        {
            "claim": verdict.claim.id,
            "statement": verdict.claim.statement,
            "subject": verdict.subject,
            "published": verdict.claim.published,
            "holds if": verdict.claim.condition,
            "measured": measured_text(verdict.measured),
            "verdict": verdict.verdict + (" (provisional)" if verdict.provisional and verdict.measured else ""),
            "remark": verdict.remark,
        }
        for verdict in verdicts
    )


def measured_text(estimate: Estimate | None) -> str:
    """A value with its interval and the number of repetitions."""
    if estimate is None:
        return ""
    return f"{estimate.value:.3g} ({estimate.low:.3g} to {estimate.high:.3g}, n={estimate.repetitions})"


def write_claims(verdicts: Sequence[Verdict], directory: Path) -> None:
    """Write claims.md for people and claims.json for programs."""
    (directory / "claims.md").write_text("# Claims\n\n" + markdown(claims_table(verdicts)))
    (directory / "claims.json").write_text(json.dumps([asdict(verdict) for verdict in verdicts], indent=2) + "\n")
