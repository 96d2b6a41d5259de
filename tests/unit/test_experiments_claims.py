"""Verdicts on claims."""

import dataclasses
import json
from pathlib import Path

import pytest

from experiments.claims import DIFFERS, HOLDS, NOT_TESTABLE, Claim, judge, load_claims, write_claims
from experiments.statistics import Estimate
from rlscope.errors import UsageError

CLAIM = Claim(
    id="A-13",
    statement="more",
    metric="ratio",
    definition="a over b",
    published="3.5",
    hardware="cpu",
    may_differ="another simulator",
    above=2.0,
)


def verdict_on(value: float, low: float, high: float, claim: Claim = CLAIM) -> tuple[str, str]:
    measured = {"walker": {"ratio": Estimate(value, low, high, 3)}}
    (verdict,) = judge([claim], measured, hardware="cpu", provisional=True)
    return verdict.verdict, verdict.remark


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [
        ((3.0, 2.5, 3.5), (HOLDS, "")),
        ((3.0, 1.5, 3.5), (HOLDS, "the interval reaches across the limit")),
        ((1.0, 0.5, 1.5), (DIFFERS, "another simulator")),
        ((1.9, 1.5, 2.5), (DIFFERS, "another simulator; the interval reaches across the limit")),
        ((2.0, 2.0, 2.0), (DIFFERS, "another simulator; the interval reaches across the limit")),
    ],
)
def test_a_claim_holds_above_its_limit(estimate: tuple[float, float, float], expected: tuple[str, str]) -> None:
    assert verdict_on(*estimate) == expected


def test_a_claim_may_hold_below_its_limit() -> None:
    claim = dataclasses.replace(CLAIM, above=None, below=2.0)
    assert verdict_on(1.0, 0.5, 1.5, claim)[0] == HOLDS
    assert verdict_on(2.0, 2.0, 2.0, claim)[0] == DIFFERS
    assert claim.condition == "< 2"


@pytest.mark.parametrize("limits", [{"above": None}, {"below": 1.0}])
def test_a_claim_has_one_limit(limits: dict[str, float | None]) -> None:
    with pytest.raises(UsageError, match="A-13, ratio: expected one limit"):
        dataclasses.replace(CLAIM, **limits)


def test_a_claim_about_other_hardware_is_not_testable_here() -> None:
    claim = dataclasses.replace(CLAIM, hardware="gpu", metric="unknown")
    assert verdict_on(3.0, 3.0, 3.0, claim) == (NOT_TESTABLE, "needs GPU runs, these used the CPU")


def test_a_metric_that_the_study_does_not_measure_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"A-13 expects the metric ratios, this study measures ratio"):
        verdict_on(3.0, 3.0, 3.0, dataclasses.replace(CLAIM, metric="ratios"))


def test_verdicts_are_written_for_people_and_for_programs(tmp_path: Path) -> None:
    measured = {"walker": {"ratio": Estimate(3.0, 2.5, 3.5, 3)}}
    write_claims(judge([CLAIM], measured, "cpu", provisional=True), tmp_path)
    assert "3 (2.5 to 3.5, n=3) | holds (provisional)" in (tmp_path / "claims.md").read_text()
    (entry,) = json.loads((tmp_path / "claims.json").read_text())
    assert entry["claim"]["id"] == "A-13"
    assert entry["measured"] == {"value": 3.0, "low": 2.5, "high": 3.5, "repetitions": 3}
    assert (entry["verdict"], entry["provisional"], entry["subject"]) == ("holds", True, "walker")


def test_an_unreadable_file_of_claims_is_named(tmp_path: Path) -> None:
    (tmp_path / "claims.toml").write_text("[[claim]\n")
    with pytest.raises(UsageError, match=r"claims\.toml: expected a readable TOML file"):
        load_claims(tmp_path / "claims.toml")
