"""What PyTorch computes, compiles and pickles while it is recorded is what it would be alone."""

from pathlib import Path

import pytest
from recording import record, run_plain


def test_results_and_errors_are_the_same(tmp_path: Path) -> None:
    plain = run_plain("torch_features.py")
    assert plain.returncode == 0, plain.stderr
    recording = record(tmp_path / "trace", "torch_features.py")
    assert recording.stdout == plain.stdout
    assert recording.returncode == 0
    assert recording.analysis["complete"], recording.stderr
    workers = [process for process in recording.analysis["processes"] if process["role"] == "worker"]
    assert len(workers) >= 2  # of the data loader


@pytest.mark.parametrize("options", [(), ("--no-auto", "--layers", "wait")])
def test_its_profiler_has_the_names_of_code_that_is_gone(options: tuple[str, ...], tmp_path: Path) -> None:
    """Alone it has what lies where the names were; of a recorded program that was often no text, which is an error."""
    recording = record(tmp_path / "trace", "torch_profiler_names.py", options=options)
    assert recording.returncode == 0, recording.stderr
    assert sorted(recording.stdout.split("\n")) == [
        "",
        "begins.py: <module>",
        "comes_late.py: <lambda>",
        "comes_late.py: <module>",
        "typed-in: <module>",
    ]
