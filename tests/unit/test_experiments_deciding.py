"""What would decide a claim that is undecided."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments import CHECKOUT
from experiments.harness.case_study import CaseStudy
from experiments.harness.provenance import Provenance
from experiments.verdicts.claims import HOLDS, NO_CORE, Claim, judge, write_claims
from experiments.verdicts.deciding import (
    MOST,
    deciding,
    minutes_of,
    of_study,
    plan,
    repetitions_to_decide,
    repetitions_within,
)
from experiments.verdicts.statistics import FEWEST, Estimate, estimated_mean

CLAIM = Claim("A-13", "More", "ratio", "", "3.5", "cpu", "", above=2.0)
STUDY = CaseStudy(CHECKOUT / "experiments" / "algorithm_choice", "quick", Path("output"))
VALUES = (2.0, 2.4, 2.8)


def test_as_many_repetitions_as_are_said_decide_and_one_less_does_not() -> None:
    # A mean of 2.4 with a standard deviation of 0.4 for the limit 2: by Student's t, n = 6 reaches 0.42 and n = 7 0.37.
    assert repetitions_to_decide(CLAIM, Estimate(2.4, 2.4 - 4.3027 * 0.4 / 3**0.5, 3.4, 3)) == 7
    assert repetitions_to_decide(CLAIM, Estimate(2.4, 2.4 - 2.5706 * 0.4 / 6**0.5, 3.4, 6)) == 7


@pytest.mark.parametrize(
    ("estimate", "number"),
    [
        (Estimate(2.4, None, None, 1), FEWEST),
        (Estimate(2.0, 1.0, 3.0, 3), None),  # on the limit
        (Estimate(2.0001, 1.0, 3.0, 3), None),
    ],
)
def test_without_an_interval_the_fewest_and_on_the_limit_none_would_do(estimate: Estimate, number: int | None) -> None:
    assert repetitions_to_decide(CLAIM, estimate) == number


def test_an_undecided_verdict_names_what_would_decide_it() -> None:
    def remark(estimate: Estimate, claim: Claim = CLAIM, said: str = "") -> str:
        (verdict,) = judge([claim], {"walker": {"ratio": estimate}}, "gpu", provisional=True)
        (found,) = deciding([replace(verdict, remark=said or verdict.remark)], STUDY)
        return found.remark

    number = repetitions_to_decide(CLAIM, estimated_mean(VALUES))
    assert f"about {number} runs would decide it, in " in remark(estimated_mean(VALUES))
    assert remark(Estimate(2.0, 1.0, 3.0, 3)).endswith(f"not even {MOST} runs would decide it")
    assert remark(Estimate(2.4, None, None, 1)).endswith(
        "about 3 runs would decide it, in 4 minutes on two cores at rest"
    )
    assert remark(estimated_mean(VALUES), said=NO_CORE).endswith("a machine that does nothing else would decide it")
    on_gpu = remark(estimated_mean(VALUES), replace(CLAIM, hardware="gpu"))
    assert on_gpu.endswith(("on that machine", "on two cores at rest"))
    (held,) = judge([CLAIM], {"walker": {"ratio": Estimate(3.0, 2.5, 3.5, 3)}}, "cpu", provisional=True)
    assert held.verdict == HOLDS and deciding([held], STUDY) == [held]


def test_a_plan_says_what_would_decide_the_last_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.verdicts.deciding.hardware", lambda: "cpu")
    verdicts = judge([CLAIM], {"walker": {"ratio": estimated_mean(VALUES)}}, "cpu", provisional=True)
    write_claims(
        verdicts,
        Provenance(
            "", "", "quick", {}, [{"cpu": "one", "cores": 2, "memory_bytes": 8e9, "kernel": "6.1", "nodes": []}], {}, []
        ),
        tmp_path,
    )
    (sentence,) = plan(replace(STUDY, output=tmp_path))
    assert sentence.startswith("A-13 (walker) is undecided (2.4 (") and "would decide it" in sentence


def test_a_study_is_repeated_as_often_as_decides_within_the_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.verdicts.deciding.hardware", lambda: "cpu")
    study = replace(STUDY, output=tmp_path)
    measured = {"soon": estimated_mean(VALUES), "late": Estimate(2.1, 1.1, 3.1, 3), "never": Estimate(2.0, 1.0, 3.0, 3)}
    verdicts = [
        verdict
        for name, estimate in measured.items()
        for verdict in judge([CLAIM], {name: {"ratio": estimate}}, "cpu", provisional=True)
    ]
    on_gpu = judge([replace(CLAIM, hardware="gpu")], {"gpu": {"ratio": Estimate(2.3, 1.1, 3.1, 3)}}, "gpu", True)
    machine = {"cpu": "one", "cores": 2, "memory_bytes": 8e9, "kernel": "6.1", "nodes": []}
    write_claims([*verdicts, *on_gpu], Provenance("", "", "quick", {}, [machine], {}, []), tmp_path)
    soon, late, never = (repetitions_to_decide(CLAIM, estimate) for estimate in measured.values())
    assert soon and late and never is None and FEWEST < soon < late
    each = minutes_of(study, 1)
    assert repetitions_within(study, 0.1) == study.repetitions_of_each == 3
    assert repetitions_within(study, each * soon) == soon
    assert repetitions_within(study, each * (late - 0.5)) == soon
    assert repetitions_within(study, each * late + 1) == late


def test_iterations_come_with_repetitions_of_the_study() -> None:
    estimate = Estimate(1.0, 0.5, 1.5, 24, "iterations")
    assert of_study(replace(STUDY, repetitions=1), estimate, 66) == 3
    assert of_study(replace(STUDY, repetitions=1), replace(estimate, unit="runs", repetitions=3), 66) == 66
