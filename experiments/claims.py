"""Judge published claims by what was measured: holds, differs, or not testable here."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas

from experiments.case_study import read_toml
from experiments.provenance import Provenance, provenance_table
from experiments.statistics import Estimate
from rlscope.errors import UsageError
from rlscope.plots.tables import markdown

HOLDS, DIFFERS, NOT_TESTABLE = "holds", "differs", "not testable here"
# What the interval says of a verdict. Where it reaches across the limit, the value itself decides.
CLEAR, ACROSS, NO_INTERVAL = "clear", "interval reaches across the limit", "one repetition, no interval"


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
    """What became of a claim for one subject (an environment, say).

    Attributes:
        claim: what was judged.
        subject: for what.
        verdict: HOLDS, DIFFERS or NOT_TESTABLE.
        measured: the measurement; None where the claim is not testable.
        interval: CLEAR where the whole interval is on one side of the limit, else ACROSS or NO_INTERVAL; empty where
            nothing was measured.
        provisional: whether the budget was too small to rely on it.
        remark: why it may differ, or why it was not tested.
    """

    claim: Claim
    subject: str
    verdict: str
    measured: Estimate | None
    interval: str
    provisional: bool
    remark: str

    @property
    def text(self) -> str:
        """For people: "holds (provisional; interval reaches across the limit)"."""
        notes = ["provisional"] if self.provisional and self.measured else []
        notes += [self.interval] if self.interval in (ACROSS, NO_INTERVAL) else []
        return f"{self.verdict} ({'; '.join(notes)})" if notes else self.verdict


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
    """Judge one claim for one subject by its interval; where that reaches across the limit, by the value."""
    if claim.hardware == "gpu" and hardware != "gpu":
        remark = f"needs {claim.hardware.upper()} runs, these used the {hardware.upper()}"
        return Verdict(claim, subject, NOT_TESTABLE, None, "", provisional, remark)
    if claim.metric not in estimates and left_out:
        return Verdict(claim, subject, NOT_TESTABLE, None, "", provisional, "needs a workload that was left out")
    if claim.metric not in estimates:
        raise UsageError(
            f"claims.toml: {claim.id} expects the metric {claim.metric}, this study measures {', '.join(estimates)}"
        )
    estimate = estimates[claim.metric]
    verdict = HOLDS if claim.holds_for(estimate.value) else DIFFERS
    return Verdict(
        claim,
        subject,
        verdict,
        estimate,
        interval_of(estimate, claim.limit),
        provisional,
        remark="" if verdict == HOLDS else claim.may_differ,
    )


def interval_of(estimate: Estimate, limit: float) -> str:
    """Where the interval of a measurement lies."""
    if estimate.repetitions == 1:
        return NO_INTERVAL
    return ACROSS if estimate.low <= limit <= estimate.high else CLEAR


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
            "verdict": verdict.text,
            "remark": verdict.remark,
        }
        for verdict in verdicts
    )


def measured_text(estimate: Estimate | None) -> str:
    """A value with its interval and the number of repetitions."""
    if estimate is None:
        return ""
    if estimate.repetitions == 0:
        return f"{estimate.value:.3g} (calculated)"
    interval = f"{estimate.low:.3g} to {estimate.high:.3g}, " if estimate.repetitions > 1 else ""
    return f"{estimate.value:.3g} ({interval}n={estimate.repetitions})"


def write_claims(verdicts: Sequence[Verdict], provenance: Provenance, directory: Path) -> None:
    """Write claims.md for people and claims.json for programs."""
    tables = [claims_table(verdicts), provenance_table(provenance)]
    (directory / "claims.md").write_text("# Claims\n\n" + "\n".join(markdown(table) for table in tables))
    contents = asdict(provenance) | {"claims": [asdict(verdict) for verdict in verdicts]}
    (directory / "claims.json").write_text(json.dumps(contents, indent=2) + "\n")
