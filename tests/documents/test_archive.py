"""What `make archive` packs is enough to begin with."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from documents.pages import ROOT


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an archive is made of a repository, and this is a copy")
def test_an_unpacked_archive_lists_the_runs_of_all_studies(tmp_path: Path) -> None:
    subprocess.run(["make", "--silent", "archive"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(ROOT / "build" / "rlscope.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / "rlscope"
    assert {"ARTIFACT.md", "CITATION.cff", "LICENSE", "Makefile"} <= {file.name for file in unpacked.iterdir()}
    for compiled in (*(ROOT / "rlscope").glob("*.so"), ROOT / "rlscope" / "built_from.json"):  # as `make build` does
        shutil.copy(compiled, unpacked / "rlscope")
    finished = subprocess.run(
        [sys.executable, "scripts/artifacts.py", "--budget", "smoke", "--dry-run"],
        cwd=unpacked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert f"{unpacked}/experiments/workloads/stable_baselines3_train.py" in finished.stdout
