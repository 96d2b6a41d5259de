"""A recorder that has changed: its traces say so, and a run that the old one recorded is recorded again."""

import json
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.harness.execute import Run, completed, execute
from experiments.harness.provenance import of_another_recorder
from rlscope.build import BUILT_FROM, built_from

ROOT = Path(__file__).resolve().parents[2]


class Build:
    """An environment with an rlscope of its own, and the sources from which that says to be built."""

    def __init__(self, folder: Path) -> None:
        self.sources, environment = folder / "sources", folder / "environment"
        for part in ("cmake", "src", "rlscope"):
            shutil.copytree(ROOT / part, self.sources / part, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
        (packages,) = (environment / "lib").glob("python*/site-packages")
        self.python, self.package = environment / "bin" / "python", packages / "rlscope"
        shutil.copytree(ROOT / "rlscope", self.package, ignore=shutil.ignore_patterns("__pycache__"))
        (packages / "others.pth").write_text("\n".join(site.getsitepackages()) + "\n")
        self.build()

    def build(self) -> None:
        """What a build does with the sources, less what they are compiled to."""
        for part in ("record", "cli"):
            shutil.copytree(self.sources / "rlscope" / part, self.package / part, dirs_exist_ok=True)
        asked = [sys.executable, str(self.sources / "cmake" / "built_from.py"), str(self.package / BUILT_FROM)]
        subprocess.run(asked, check=True)

    def edit(self, path: str) -> None:
        """Changes a source, and builds."""
        with (self.sources / path).open("a") as file:
            file.write("\n# another line\n")
        self.build()


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return Build(tmp_path)


@pytest.fixture
def run(tmp_path: Path, build: Build) -> Run:
    script = tmp_path / "loop.py"
    script.write_text(
        "import rlscope\n"
        "for iteration in range(5):\n"
        "    with rlscope.operation('step'): pass\n"
        "    rlscope.report_progress(timesteps=iteration + 1)\n"
    )
    return Run("E/loop/repetition_0", build.python, script, (), 1, 2, threads=1, device="cpu", time_limit_s=60)


def test_a_run_is_repeated_when_its_recorder_has_changed(build: Build, run: Run, tmp_path: Path) -> None:
    directory = tmp_path / "out"
    execute(run, directory)
    manifest, trace = (json.loads((directory / path / "manifest.json").read_text()) for path in (".", "trace"))
    assert manifest["built_from"] == trace["built_from"] == built_from(build.package)
    assert manifest["description"]["recorder_sha256"] == trace["built_from"]["recorder_sha256"]
    assert of_another_recorder([trace["built_from"]]) == ""  # than the one that is installed: the sources are the same

    build.edit("rlscope/cli/analyze.py")
    assert completed(run, directory), "how traces are shown does not decide what is in them"
    for path in ("rlscope/record/recorder.py", "src/core/recording/session.cpp"):
        build.edit(path)
        assert completed(run, directory) is None
        execute(run, directory)
        assert completed(run, directory)
    again = json.loads((directory / "trace" / "manifest.json").read_text())["built_from"]
    found, now = again["recorder_sha256"][:12], built_from()["recorder_sha256"][:12]
    assert of_another_recorder([again]) == f"of another recorder ({found}) than today's ({now})"


def test_a_trace_says_which_recorder_made_it(build: Build, run: Run, tmp_path: Path) -> None:
    execute(run, tmp_path / "out")
    shown = subprocess.run(
        [sys.executable, "-m", "rlscope", "inspect", str(tmp_path / "out" / "trace")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"recorder {built_from(build.package)['recorder_sha256'][:12]}\n" in shown.stdout


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    return subprocess.run(
        ["git", "-C", str(folder), *identity, *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_commit_and_change_are_those_of_the_repository_of_the_sources(build: Build, tmp_path: Path) -> None:
    assert (built_from(build.package)["commit"], built_from(build.package)["changed"]) == (None, None)
    git(build.sources, "init", "-q")
    git(build.sources, "add", ".")
    git(build.sources, "commit", "-q", "-m", "sources")
    build.build()
    first = built_from(build.package)
    assert (first["commit"], first["changed"]) == (git(build.sources, "rev-parse", "HEAD"), False)
    build.edit("rlscope/record/recorder.py")
    second = built_from(build.package)
    assert (second["commit"], second["changed"]) == (first["commit"], True)
    assert second["recorder_sha256"] != first["recorder_sha256"]
    # Sources that lie in a repository of something else are not its.
    git(tmp_path, "init", "-q")
    shutil.rmtree(build.sources / ".git")
    build.build()
    assert built_from(build.package)["commit"] is None
