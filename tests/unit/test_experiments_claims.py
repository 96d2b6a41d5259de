"""Verdicts on claims."""

import dataclasses
import json
from pathlib import Path

import pytest

from experiments.claims import (
    ACROSS,
    CLEAR,
    DIFFERS,
    HOLDS,
    NO_INTERVAL,
    NOT_TESTABLE,
    Claim,
    Verdict,
    judge,
    load_claims,
    write_claims,
)
from experiments.execute import Execution, Run
from experiments.provenance import provenance
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


def verdict_on(
    value: float, low: float, high: float, claim: Claim = CLAIM, repetitions: int = 3, provisional: bool = True
) -> Verdict:
    measured = {"walker": {"ratio": Estimate(value, low, high, repetitions)}}
    (verdict,) = judge([claim], measured, hardware="cpu", provisional=provisional)
    return verdict


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [
        ((3.0, 2.5, 3.5), (HOLDS, CLEAR, "")),
        ((3.0, 1.5, 3.5), (HOLDS, ACROSS, "")),
        ((1.0, 0.5, 1.5), (DIFFERS, CLEAR, "another simulator")),
        ((1.9, 1.5, 2.5), (DIFFERS, ACROSS, "another simulator")),
        ((2.0, 2.0, 2.0), (DIFFERS, ACROSS, "another simulator")),
    ],
)
def test_a_claim_holds_above_its_limit(estimate: tuple[float, float, float], expected: tuple[str, str, str]) -> None:
    verdict = verdict_on(*estimate)
    assert (verdict.verdict, verdict.interval, verdict.remark) == expected


def test_a_claim_may_hold_below_its_limit() -> None:
    claim = dataclasses.replace(CLAIM, above=None, below=2.0)
    assert verdict_on(1.0, 0.5, 1.5, claim).verdict == HOLDS
    assert verdict_on(2.0, 2.0, 2.0, claim).verdict == DIFFERS
    assert claim.condition == "< 2"


def test_the_text_of_a_verdict_says_how_far_to_rely_on_it() -> None:
    assert verdict_on(3.0, 2.5, 3.5, provisional=False).text == "holds"
    assert verdict_on(3.0, 2.5, 3.5).text == "holds (provisional)"
    assert verdict_on(3.0, 1.5, 3.5, provisional=False).text == "holds (interval reaches across the limit)"
    one = verdict_on(3.0, 3.0, 3.0, repetitions=1)
    assert (one.interval, one.text) == (NO_INTERVAL, "holds (provisional; one repetition, no interval)")


@pytest.mark.parametrize("limits", [{"above": None}, {"below": 1.0}])
def test_a_claim_has_one_limit(limits: dict[str, float | None]) -> None:
    with pytest.raises(UsageError, match="A-13, ratio: expected one limit"):
        dataclasses.replace(CLAIM, **limits)


def test_a_claim_about_other_hardware_is_not_testable_here() -> None:
    claim = dataclasses.replace(CLAIM, hardware="gpu", metric="unknown")
    verdict = verdict_on(3.0, 3.0, 3.0, claim)
    assert (verdict.text, verdict.remark) == (NOT_TESTABLE, "needs GPU runs, these used the CPU")


def test_a_metric_that_the_study_does_not_measure_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"A-13 expects the metric ratios, this study measures ratio"):
        verdict_on(3.0, 3.0, 3.0, dataclasses.replace(CLAIM, metric="ratios"))


def an_execution(directory: Path, node: str, cpu: str, packages: dict[str, str]) -> Execution:
    """What a run has left, as far as it says where results come from."""
    directory.mkdir()
    description = {"python": "/venv/bin/python", "versions": packages}
    manifest = {"machine": {"cpu": cpu, "cores": 2, "memory_bytes": 8e9, "kernel": "6.1"}, "node": node}
    (directory / "manifest.json").write_text(json.dumps(manifest | {"description": description}))
    run = Run("walker/ppo/repetition_0", Path("python"), Path("train.py"), (), 0, 1, 1, "cpu", 1)
    return Execution(run, directory / "trace", 1.0, was_complete=True)


def test_verdicts_are_written_for_people_and_for_programs(tmp_path: Path) -> None:
    measured = {"walker": {"ratio": Estimate(3.0, 2.5, 3.5, 3)}}
    packages = {"python": "3.11.7", "torch": "2.13.0", "jax": "not installed"}
    executions = [
        an_execution(tmp_path / f"run_{number}", node, cpu, packages)
        for number, (node, cpu) in enumerate([("red", "fast"), ("blue", "fast"), ("green", "slow")])
    ]
    found = provenance("quick", {"algorithm_choice": 3}, executions)
    write_claims(judge([CLAIM], measured, "cpu", provisional=True), found, tmp_path)

    page = (tmp_path / "claims.md").read_text()
    assert "3 (2.5 to 3.5, n=3) | holds (provisional)" in page
    assert "| machine | fast, 2 cores, 8 GB, Linux 6.1 (blue, red) |" in page
    assert "| /venv/bin/python | python 3.11.7, torch 2.13.0 |" in page

    contents = json.loads((tmp_path / "claims.json").read_text())
    assert list(contents) == ["command", "date", "budget", "repetitions", "hardware", "versions", "claims"]
    assert [(machine["cpu"], machine["nodes"]) for machine in contents["hardware"]] == [
        ("fast", ["blue", "red"]),
        ("slow", ["green"]),
    ]
    assert contents["versions"] == {"/venv/bin/python": {"python": "3.11.7", "torch": "2.13.0"}}
    assert contents["repetitions"] == {"algorithm_choice": 3}
    (entry,) = contents["claims"]
    assert entry["claim"]["id"] == "A-13"
    assert entry["measured"] == {"value": 3.0, "low": 2.5, "high": 3.5, "repetitions": 3}
    assert (entry["verdict"], entry["provisional"], entry["subject"]) == ("holds", True, "walker")
    assert entry["interval"] == "clear"


def test_an_unreadable_file_of_claims_is_named(tmp_path: Path) -> None:
    (tmp_path / "claims.toml").write_text("[[claim]\n")
    with pytest.raises(UsageError, match=r"claims\.toml: expected a readable TOML file"):
        load_claims(tmp_path / "claims.toml")
