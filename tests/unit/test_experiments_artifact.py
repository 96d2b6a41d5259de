"""What was said of the paper's artifact, judged of ours."""

from pathlib import Path

import pytest

from experiments import scale_up
from experiments.harness.case_study import CaseStudy
from experiments.verdicts import artifact
from experiments.verdicts.artifact import OTHER, PUBLISHED, verdicts_on_artifact
from experiments.verdicts.claims import DIFFERS, HOLDS, NOT_TESTABLE
from rlscope.plots.figure_files import FIGURE_FORMATS


def draw(output: Path, name: str) -> None:
    for suffix in (*FIGURE_FORMATS, "csv"):
        (output / f"{name}.{suffix}").touch()


def test_claims_about_the_artifact_are_judged_by_what_is_there(tmp_path: Path) -> None:
    outputs = [tmp_path / name for name in ("frameworks", "others")]
    for output in outputs:
        output.mkdir()
    for *_, name in PUBLISHED:  # MuJoCo's, where there are two
        draw(outputs[0], name)
    for (name,) in OTHER:
        draw(outputs[1], name)
    studies = [CaseStudy(Path(scale_up.__path__[0]), "paper", output) for output in outputs]
    found = {verdict.claim.id: verdict for verdict in verdicts_on_artifact(studies)}
    expected = {"E-1": HOLDS, "E-2": HOLDS, "E-3": HOLDS, "E-5": HOLDS, "E-6": NOT_TESTABLE}
    assert {name: found[name].verdict for name in expected} == expected
    assert "make test-cpp" in found["E-6"].remark
    # Where counters can be read, nothing is refused.
    assert found["E-7"].verdict in (HOLDS, NOT_TESTABLE)

    (outputs[0] / "figure_4_framework_comparison.csv").unlink()
    assert {verdict.claim.id for verdict in verdicts_on_artifact(studies) if verdict.verdict == DIFFERS} == {"E-1"}


def test_a_framework_that_is_loaded_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifact, "WITHOUT_A_FRAMEWORK", f"import torch\n{artifact.WITHOUT_A_FRAMEWORK}")
    found = verdicts_on_artifact([CaseStudy(Path(scale_up.__path__[0]), "smoke", tmp_path)])
    assert next(verdict.verdict for verdict in found if verdict.claim.id == "E-5") == DIFFERS
