"""Operations with nearly a stage's name are named, since their time is in no stage."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import rlscope
from rlscope.cli.analyze import analyze
from rlscope.cli.report import report
from rlscope.report.sentences import stage_meant


@pytest.mark.parametrize(
    ("operation", "stage"),
    [
        ("Inference", "inference"),
        ("infer", "inference"),
        ("simulate", "simulation"),
        ("simualtion", "simulation"),
        ("backward", "backpropagation"),
        ("Backprop", "backpropagation"),
        ("synchronization", "synchronisation"),
        ("simulation", None),
        ("synchronisation", None),
        ("synchronize", None),  # as for a device
        ("sync_weights", None),
        ("simulation+inference", None),
        ("training_loop", None),
        ("sample_batch", None),
        ("compile", None),
        ("(none)", None),
        ("background", None),
        ("evaluation", None),
    ],
)
def test_what_a_name_was_meant_for(operation: str, stage: str | None) -> None:
    assert stage_meant(operation) == stage


def test_a_name_that_is_nearly_a_stage_is_told(tmp_path: Path) -> None:
    with rlscope.profile(tmp_path / "trace"):
        with rlscope.operation("Inference"), rlscope.operation("sample"):
            sum(range(1000))
        with rlscope.operation("simulation"), rlscope.operation("simulate"):
            sum(range(1000))
    told = (
        "operation `Inference` belongs to no stage: the stages are called simulation, inference, backpropagation, "
        "synchronisation; "
        "was `inference` meant? Then name it so"
    )
    analyzed = CliRunner().invoke(analyze, [str(tmp_path / "trace")])
    assert analyzed.output.count("belongs to no stage") == 1
    assert told in " ".join(analyzed.output.split())
    reported = CliRunner().invoke(report, [str(tmp_path / "trace"), "-o", str(tmp_path / "report")])
    assert told in reported.output
    assert "operation `Inference` belongs to no stage" in (tmp_path / "report" / "index.html").read_text()
