"""Verdicts on claims."""

import dataclasses
import json
from pathlib import Path

import pytest

from experiments import CHECKOUT
from experiments.harness.execute import Execution, Run
from experiments.harness.provenance import provenance
from experiments.verdicts.claims import (
    ACROSS,
    DIFFERS,
    HOLDS,
    NOT_TESTABLE,
    UNDECIDED,
    Claim,
    Verdict,
    counts_text,
    judge,
    load_claims,
    write_claims,
)
from experiments.verdicts.corrected import Caveats
from experiments.verdicts.statistics import ITERATIONS, RUNS, Estimate, exact
from experiments.verdicts.study_page import StudyPage
from rlscope.build import built_from, recorder_text
from rlscope.errors import UsageError
from rlscope.text.numbers import size

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
    value: float,
    low: float | None,
    high: float | None,
    claim: Claim = CLAIM,
    repetitions: int = 3,
    provisional: bool = True,
    unit: str = RUNS,
) -> Verdict:
    measured = {"walker": {"ratio": Estimate(value, low, high, repetitions, unit)}}
    (verdict,) = judge([claim], measured, hardware="cpu", provisional=provisional)
    return verdict


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [
        ((3.0, 2.5, 3.5), (HOLDS, "")),
        ((3.0, 1.5, 3.5), (UNDECIDED, ACROSS)),
        ((1.0, 0.5, 1.5), (DIFFERS, "another simulator")),
        ((1.9, 1.5, 2.5), (UNDECIDED, ACROSS)),
        ((3.0, 2.0, 4.0), (UNDECIDED, ACROSS)),
        ((1.5, 1.0, 2.0), (DIFFERS, "another simulator")),
        ((2.0, 2.0, 2.0), (DIFFERS, "another simulator")),
        ((3.0, None, None), (UNDECIDED, "no interval (n=3 runs)")),
    ],
)
def test_a_claim_holds_where_the_whole_interval_is_above_its_limit(
    estimate: tuple[float, float | None, float | None], expected: tuple[str, str]
) -> None:
    verdict = verdict_on(*estimate)
    assert (verdict.verdict, verdict.remark) == expected


@pytest.mark.parametrize(("share", "expected"), [(None, HOLDS), (0.0, HOLDS), (0.3, HOLDS), (0.35, UNDECIDED)])
def test_a_claim_is_undecided_where_waiting_for_a_core_may_reach_its_limit(share: float | None, expected: str) -> None:
    """3 is by half above the limit 2, so 2 and a third of 3 without a core are 3."""
    measured = {"walker": {"ratio": Estimate(3.0, 2.5, 3.5, 3)}}
    (verdict,) = judge([CLAIM], measured, "cpu", provisional=True, caveats=Caveats(no_core_share=share))
    assert verdict.verdict == expected
    assert (verdict.remark == "") == (expected == HOLDS)


def test_a_claim_may_hold_below_its_limit() -> None:
    claim = dataclasses.replace(CLAIM, above=None, below=2.0)
    assert verdict_on(1.0, 0.5, 1.5, claim).verdict == HOLDS
    assert verdict_on(1.9, 1.5, 2.5, claim).verdict == UNDECIDED
    assert verdict_on(2.0, 2.0, 2.0, claim).verdict == DIFFERS
    assert claim.condition == "< 2"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (7.5, 9.5, HOLDS),
        (6.0, 6.5, DIFFERS),
        (10.5, 12.0, DIFFERS),
        (6.5, 8.0, UNDECIDED),
        (9.0, 11.0, UNDECIDED),
        (5.0, 12.0, UNDECIDED),
    ],
)
def test_a_claim_with_two_limits_has_one_verdict(low: float, high: float, expected: str) -> None:
    claim = dataclasses.replace(CLAIM, above=7.0, below=10.0)
    assert verdict_on((low + high) / 2, low, high, claim).verdict == expected
    assert claim.condition == "> 7 and < 10"


def test_the_text_of_a_verdict_says_how_far_to_rely_on_it() -> None:
    assert verdict_on(3.0, 2.5, 3.5, provisional=False).text == "holds"
    assert verdict_on(3.0, 2.5, 3.5).text == "holds (provisional)"
    assert verdict_on(3.0, 1.5, 3.5, provisional=False).text == "undecided"
    few = verdict_on(3.0, None, None, repetitions=2, unit=ITERATIONS)
    assert (few.text, few.remark) == ("undecided (provisional)", "no interval (n=2 iterations)")
    assert few.measured_text == "3 (no interval, n=2 iterations)"


def test_what_is_calculated_stands_apart_and_is_not_counted(tmp_path: Path) -> None:
    measured, missing = verdict_on(3.0, 2.5, 3.5), dataclasses.replace(CLAIM, hardware="gpu")
    (calculated,) = judge([CLAIM], {"model": {"ratio": exact(1.5)}}, "cpu", provisional=True)
    assert (calculated.verdict, calculated.text) == (DIFFERS, "differs")
    verdicts = [calculated, measured, *judge([missing], {"walker": {}}, "cpu", provisional=True)]
    assert counts_text(verdicts) == "Verdicts: 1 holds, 1 not testable here."
    page = StudyPage("claims", tmp_path)
    page.claims(verdicts)
    page.write(tmp_path / "index.html")
    judged, apart = (tmp_path / "index.html").read_text().split("By calculation, from published numbers alone")
    assert "holds (provisional)" in judged and "<th>measured</th>" in judged and "model" not in judged
    assert (
        "<td>1.5</td>" in apart
        and ">differs</span></td>" in apart
        and "<th>calculated</th>" in apart
        and "n=" not in apart
    )
    write_claims(verdicts, provenance("quick", {}, []), tmp_path)
    contents = json.loads((tmp_path / "claims.json").read_text())
    assert [len(contents[name]) for name in ("claims", "calculated")] == [2, 1]
    assert "By calculation" in (tmp_path / "claims.md").read_text()


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"above": None}, "expected a limit"),
        ({"below": 1.0}, "expected `above` to be less than `below`, found 2 and 1"),
    ],
)
def test_a_claim_has_limits_that_can_be_met(limits: dict[str, float | None], expected: str) -> None:
    with pytest.raises(UsageError, match=f"A-13, ratio: {expected}"):
        dataclasses.replace(CLAIM, **limits)  # type: ignore[arg-type]


def test_a_claim_about_other_hardware_is_not_testable_here() -> None:
    claim = dataclasses.replace(CLAIM, hardware="gpu", metric="unknown")
    verdict = verdict_on(3.0, 3.0, 3.0, claim)
    assert (verdict.text, verdict.remark) == (NOT_TESTABLE, "needs GPU runs, these used the CPU")


def test_a_metric_that_the_study_does_not_measure_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"A-13 expects the metric ratios, this study measures ratio"):
        verdict_on(3.0, 3.0, 3.0, dataclasses.replace(CLAIM, metric="ratios"))


def an_execution(directory: Path, node: str, cpu: str, day: str, packages: dict[str, str]) -> Execution:
    """What a run has left, as far as it says where results come from."""
    directory.mkdir()
    description = {"python": str(CHECKOUT / ".venv/bin/python"), "versions": packages}
    manifest = {"machine": {"cpu": cpu, "cores": 2, "memory_bytes": 8e9, "kernel": "6.1"}, "node": node}
    manifest |= {"description": description, "started": f"{day}T23:59:59+00:00", "built_from": built_from()}
    (directory / "manifest.json").write_text(json.dumps(manifest))
    run = Run("walker/ppo/repetition_0", Path("python"), Path("train.py"), (), 0, 1, 1, "cpu", 1)
    return Execution(run, directory / "trace", 1.0, was_complete=True)


def test_verdicts_are_written_for_people_and_for_programs(tmp_path: Path) -> None:
    measured = {"walker": {"ratio": Estimate(3.0, 2.5, 3.5, 3)}}
    packages = {"python": "3.11.7", "torch": "2.13.0", "jax": "not installed"}
    executions = [
        an_execution(tmp_path / f"run_{number}", node, cpu, f"2026-11-{day}", packages)
        for number, (node, cpu, day) in enumerate([("red", "fast", 21), ("blue", "fast", 22), ("green", "slow", 20)])
    ]
    found = provenance("quick", {"algorithm_choice": 3}, executions)
    write_claims(judge([CLAIM], measured, "cpu", provisional=True), found, tmp_path)

    page = (tmp_path / "claims.md").read_text()
    assert "3 (2.5 to 3.5, n=3 runs) | holds (provisional)" in page
    assert f"| machine | fast, 2 cores, {size(8e9)}, Linux 6.1 (blue, red) |" in page
    assert f"| recorder | {recorder_text(built_from())} |" in page
    assert "| date | 2026-11-20 to 2026-11-22 |" in page
    assert "| .venv/bin/python | python 3.11.7, torch 2.13.0 |" in page

    contents = json.loads((tmp_path / "claims.json").read_text())
    assert list(contents) == [
        "schema",
        "command",
        "date",
        "budget",
        "repetitions",
        "hardware",
        "versions",
        "recorders",
        "seconds",
        "claims",
        "calculated",
    ]
    assert [(machine["cpu"], machine["nodes"]) for machine in contents["hardware"]] == [
        ("fast", ["blue", "red"]),
        ("slow", ["green"]),
    ]
    assert contents["versions"] == {".venv/bin/python": {"python": "3.11.7", "torch": "2.13.0"}}
    assert contents["repetitions"] == {"algorithm_choice": 3}
    (entry,) = contents["claims"]
    assert entry["claim"]["id"] == "A-13"
    assert entry["measured"] == {"value": 3.0, "low": 2.5, "high": 3.5, "repetitions": 3, "unit": "runs"}
    assert (entry["verdict"], entry["provisional"], entry["subject"]) == ("holds", True, "walker")


def test_an_unreadable_file_of_claims_is_named(tmp_path: Path) -> None:
    (tmp_path / "claims.toml").write_text("[[claim]\n")
    with pytest.raises(UsageError, match=r"claims\.toml: expected a readable TOML file"):
        load_claims(tmp_path / "claims.toml")
