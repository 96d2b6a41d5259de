"""Minutes of studies on pages are those that they took, where results of such a machine are kept."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from experiments import CHECKOUT

SCRIPT = CHECKOUT / "scripts" / "artifact_page.py"
SPEC = importlib.util.spec_from_file_location("artifact_page", SCRIPT)
assert SPEC and SPEC.loader
artifact_page = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(artifact_page)


@pytest.mark.parametrize(
    ("changed", "minutes"),
    [
        ({}, 4.5),
        ({"seconds": None}, 3.5),
        ({"budget": "paper"}, 3.5),
        ({"repetitions": {"algorithm_choice": 5}}, 3.5),
        ({"hardware": [{"cores": 16}]}, 3.5),
        ({"hardware": [{"cores": 2, "gpus": ["one"]}]}, 3.5),
    ],
)
def test_minutes_are_those_that_a_study_took_on_such_a_machine(
    changed: dict[str, object], minutes: float, tmp_path: Path
) -> None:
    study = tmp_path / "algorithm_choice"
    shutil.copytree(CHECKOUT / "experiments" / "algorithm_choice", study, ignore=shutil.ignore_patterns("measured"))
    kept = {
        "seconds": 264.0, "budget": "quick", "repetitions": {"algorithm_choice": 3}, "hardware": [{"cores": 2}],
    }  # fmt: skip
    (study / "measured" / "one").mkdir(parents=True)
    (study / "measured" / "one" / "claims.json").write_text(json.dumps({**kept, **changed}))
    assert artifact_page.minutes_at(study, "quick") == minutes


def test_claims_are_ranges() -> None:
    assert artifact_page.ranges(["A-03", "A-04", "A-05", "A-11", "A-12", "E-4", "ours"]) == (
        "A-03 to A-05, A-11, A-12, E-4"
    )
