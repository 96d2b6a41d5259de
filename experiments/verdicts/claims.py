"""This file judges published claims by what was measured: holds, differs, undecided, or not testable here."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pandas as pd

from experiments.harness.provenance import Provenance, provenance_table
from experiments.harness.typed_toml import KEY, parsed, read_toml
from experiments.verdicts.corrected import NO_CAVEATS, Caveats
from experiments.verdicts.statistics import Estimate
from rlscope.errors import UsageError
from rlscope.plots.tables import markdown
from rlscope.text.numbers import digits, percent

HOLDS, DIFFERS, UNDECIDED, NOT_TESTABLE = "holds", "differs", "undecided", "not testable here"
KINDS = (HOLDS, DIFFERS, UNDECIDED, NOT_TESTABLE)
IN_CUDA = "time inside CUDA calls is judged only without what recording adds to it"
UNCORRECTED = "times include what recording added"
ACROSS = "the interval reaches across the limit"
NO_CORE = "the limit is nearer than what waiting for a core may change: the runs waited for one"
#: Of measurements, by how their names end; the first that fits.
UNITS = {
    "correlation$": "",
    "percent|_share$|_share_of_|occupancy$|efficiency$": "%",
    "_hours$": "h",
    "_ms$": "ms",
    "_us$": "µs",
    "_per_s$": "/s",
    "_s$": "s",
    "_log2$": "powers of two",
    "_to_|_gain|speedup|_spread|inflation": "times",
}
#: The version of claims.json.
SCHEMA = 1
BY_CALCULATION = (
    "By calculation, from published numbers alone: nothing was measured for these, so they are the same on every "
    "machine, and they are not among the verdicts above."
)


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
        above: the claim holds if the measurement exceeds this; this or `below` is given, or both.
        below: the claim holds if the measurement is less than this.
        subject: the one that the claim is about; empty if it is about each.
        corrected: it is about time inside CUDA calls, to which recording adds much: judged without that, or not at all.
        untested: why nothing is measured for it, where that is so: one sentence.
        figure: what the figure draws that shows it, where those of its study draw different things.
        unit: of the measurement, where its name does not end as those of UNITS do.
        tool: it is about what the tool can do, and no finding: it counts apart.
        answer: the study's question answered by it, a sentence with the places {measured} and {published}; as a rule
            empty.
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
    corrected: bool = False
    untested: str = ""
    figure: str = ""
    unit: str = ""
    answer: str = ""
    tool: bool = False

    def __post_init__(self) -> None:
        if self.above is None and self.below is None and not self.untested:
            raise UsageError(f"claims.toml: {self.id}, {self.metric}: expected a limit, `above` or `below` or both")
        if self.lowest >= self.highest:
            raise UsageError(
                f"claims.toml: {self.id}, {self.metric}: expected `above` to be less than `below`, "
                f"found {self.above:g} and {self.below:g}"
            )

    @property
    def lowest(self) -> float:
        """Return what the measurement has to exceed."""
        return -math.inf if self.above is None else self.above

    @property
    def highest(self) -> float:
        """Return what the measurement has to be less than."""
        return math.inf if self.below is None else self.below

    @property
    def condition(self) -> str:
        """Return the limits for people: "> 7 and < 10"."""
        limits = ((">", self.above), ("<", self.below))
        return " and ".join(f"{sign} {digits(limit)}" for sign, limit in limits if limit is not None)

    def measured_text(self, estimate: Estimate | None) -> str:
        """Return a measurement with its unit and its interval, and how many repetitions of what are behind it."""
        if estimate is None:
            return ""
        unit = self.unit or next((unit for name, unit in UNITS.items() if re.search(name, self.metric)), "")
        value = f"{digits(estimate.value)} {unit}".rstrip()
        if estimate.is_calculated:
            return value
        if estimate.low is None or estimate.high is None:
            return f"{value} (no interval, {estimate.counted})"
        return f"{value} ({digits(estimate.low)} to {digits(estimate.high)}, {estimate.counted})"

    def verdict_on(self, estimate: Estimate) -> str:
        """Return what the whole interval of a measurement says."""
        if estimate.low is None or estimate.high is None:
            return UNDECIDED
        if self.lowest < estimate.low and estimate.high < self.highest:
            return HOLDS
        return DIFFERS if estimate.high <= self.lowest or estimate.low >= self.highest else UNDECIDED

    def distance(self, value: float) -> float:
        """Return how far a value is from the nearest limit, as a share of the limit; of a limit of 0 it is infinite."""
        limits = (limit for limit in (self.above, self.below) if limit is not None)
        return min(abs(value - limit) / abs(limit) if limit else math.inf for limit in limits)


@dataclass(frozen=True)
class Verdict:
    """This is what became of a claim for one subject (an environment, say).

    Attributes:
        claim: what was judged.
        subject: for what.
        verdict: HOLDS or DIFFERS where the whole interval says so; UNDECIDED where it reaches across a limit, or where
            there is none; NOT_TESTABLE where nothing was measured.
        measured: the measurement; None where the claim is not testable.
        provisional: whether the budget was too small to rely on it.
        remark: why it may differ, why it is undecided, or why it was not tested.
    """

    claim: Claim
    subject: str
    verdict: str
    measured: Estimate | None
    provisional: bool
    remark: str

    @property
    def is_calculated(self) -> bool:
        """Return whether it is about a number that follows from published ones."""
        return self.measured is not None and self.measured.is_calculated

    @property
    def measured_text(self) -> str:
        """Return what was measured, for people; empty where nothing was."""
        return self.claim.measured_text(self.measured)

    @property
    def text(self) -> str:
        """Return the verdict for people: "holds (provisional)"."""
        is_provisional = self.provisional and self.measured and not self.is_calculated
        return f"{self.verdict} (provisional)" if is_provisional else self.verdict


@dataclass(frozen=True)
class Claims:
    """The contents of a claims.toml."""

    claims: tuple[Claim, ...] = field(metadata={KEY: "claim"})


def load_claims(path: Path) -> list[Claim]:
    """Return the claims of a study.

    Raises:
        UsageError: The file cannot be read, or one of its keys is not known.
    """
    return list(parsed(Claims, read_toml(path), str(path)).claims)


def judge(
    claims: Sequence[Claim],
    measured: Mapping[str, Mapping[str, Estimate]],
    hardware: str,
    provisional: bool,
    left_out: bool = False,
    caveats: Caveats = NO_CAVEATS,
) -> list[Verdict]:
    """Judge every claim for every subject that it is about.

    Args:
        claims: what to judge.
        measured: subject to metric to estimate.
        hardware: what the runs used.
        provisional: whether the budget was too small to rely on the verdicts.
        left_out: whether workloads are missing, and with them the metrics that need them.
        caveats: what times include that is not the programs' own.
    """
    return [
        judge_one(claim, subject, estimates, hardware, provisional, left_out, caveats)
        for claim in claims
        for subject, estimates in measured.items()
        if claim.subject in ("", subject)
    ]


def judge_one(
    claim: Claim,
    subject: str,
    estimates: Mapping[str, Estimate],
    hardware: str,
    provisional: bool,
    left_out: bool = False,
    caveats: Caveats = NO_CAVEATS,
) -> Verdict:
    """Judge one claim for one subject by the interval of its measurement."""
    if claim.untested and claim.metric not in estimates:
        return Verdict(claim, subject, NOT_TESTABLE, None, provisional, claim.untested)
    if claim.hardware == "gpu" and hardware != "gpu":
        remark = f"needs {claim.hardware.upper()} runs, these used the {hardware.upper()}"
        return Verdict(claim, subject, NOT_TESTABLE, None, provisional, remark)
    if claim.metric not in estimates and left_out:
        remark = "needs a workload that was left out, or something that not every run had"
        return Verdict(claim, subject, NOT_TESTABLE, None, provisional, remark)
    if claim.metric not in estimates:
        raise UsageError(
            f"claims.toml: {claim.id} expects the metric {claim.metric}, this study measures {', '.join(estimates)}"
        )
    if claim.corrected and caveats.cuda:
        remark = f"{IN_CUDA}: {caveats.cuda}"
        return Verdict(claim, subject, NOT_TESTABLE, None, provisional, remark)
    estimate = estimates[claim.metric]
    verdict = claim.verdict_on(estimate)
    undecided = ACROSS if estimate.has_interval else f"no interval ({estimate.counted})"
    if verdict != UNDECIDED and not estimate.is_calculated and claim.distance(estimate.value) < caveats.most_changed:
        verdict, undecided = UNDECIDED, f"{NO_CORE} for {percent(caveats.no_core_share or 0.0)} of their time"
    remark = {HOLDS: "", DIFFERS: claim.may_differ, UNDECIDED: undecided}[verdict]
    includes = UNCORRECTED if caveats.times else ""
    return Verdict(claim, subject, verdict, estimate, provisional, "; ".join(filter(None, [remark, includes])))


def claims_table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return the verdicts for people: one row each."""
    value = "calculated" if all(verdict.is_calculated for verdict in verdicts) else "measured"
    return pd.DataFrame(
        {
            "claim": verdict.claim.id,
            "statement": verdict.claim.statement,
            "subject": verdict.subject,
            "published": verdict.claim.published,
            "holds if": verdict.claim.condition,
            value: verdict.measured_text,
            "verdict": verdict.text,
            "remark": verdict.remark,
        }
        for verdict in verdicts
    )


def counts(verdicts: Sequence[Verdict], tool: bool = False) -> str:
    """Return how many verdicts on findings there are of each kind: "3 holds, 1 undecided". Of calculated numbers none
    count.

    Args:
        verdicts: to count.
        tool: count those on what the tool can do instead.
    """
    found = Counter(each.verdict for each in verdicts if not each.is_calculated and each.claim.tool == tool)
    return ", ".join(f"{found[kind]} {kind}" for kind in KINDS if found[kind])


def answers(verdicts: Sequence[Verdict], names: Mapping[str, str]) -> list[str]:
    """Return what answers the study's question, a sentence for each subject that it was measured for.

    Args:
        verdicts: of the study.
        names: of subjects, for people, where they are not those that verdicts have.
    """
    asked = [verdict for verdict in verdicts if verdict.claim.answer]
    found = [
        f"{names.get(verdict.subject, verdict.subject)}: {verdict.claim.answer}".format(
            measured=verdict.measured_text, published=verdict.claim.published
        )
        for verdict in asked
        if verdict.measured
    ]
    return found or [f"Not answered here. {verdict.claim.statement}: {verdict.remark}." for verdict in asked[:1]]


def counts_text(verdicts: Sequence[Verdict]) -> str:
    """Return the same as a sentence."""
    of_tool = counts(verdicts, tool=True)
    return f"Verdicts: {counts(verdicts) or 'none'}." + (f" On what the tool can do: {of_tool}." if of_tool else "")


def split(verdicts: Sequence[Verdict]) -> tuple[list[Verdict], list[Verdict]]:
    """Return the verdicts on what was measured, or cannot be, and those on what was calculated."""
    calculated = [verdict for verdict in verdicts if verdict.is_calculated]
    return [verdict for verdict in verdicts if not verdict.is_calculated], calculated


def write_claims(verdicts: Sequence[Verdict], provenance: Provenance, directory: Path) -> None:
    """Write claims.md for people and claims.json for programs."""
    judged, calculated = split(verdicts)
    parts = ["# Claims", counts_text(judged), markdown(claims_table(judged))]
    parts += [BY_CALCULATION, markdown(claims_table(calculated))] if calculated else []
    (directory / "claims.md").write_text("\n\n".join([*parts, markdown(provenance_table(provenance))]))
    contents = (
        {"schema": SCHEMA}
        | asdict(provenance)
        | {
            "claims": [asdict(verdict) for verdict in judged],
            "calculated": [asdict(verdict) for verdict in calculated],
        }
    )
    (directory / "claims.json").write_text(json.dumps(contents, indent=2) + "\n")
