"""What PyTorch computes, compiles and pickles while it is recorded is what it would be alone."""

from pathlib import Path

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
