"""A fault that is planted into a training breaks a kept claim: the study says so, and a check of its claims fails."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STUDY = Path("experiments") / "algorithm_choice"
TWICE = """
    once = agent.train
    agent.train = lambda *arguments, **options: (once(*arguments, **options), once(*arguments, **options))
"""


def shorten(path: Path, is_kept: Callable[[str], object]) -> None:
    """Removes the entries of a TOML file that would only take time."""
    first, *entries = re.split(r"^(?=\[\[)", path.read_text(), flags=re.MULTILINE)
    path.write_text(first + "".join(filter(is_kept, entries)))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_updates_that_are_done_twice_break_a_claim(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "experiments", tmp_path / "experiments", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shorten(tmp_path / STUDY / "runs.toml", lambda entry: re.search(r'^name = "(SAC|Walker2d-v5)"', entry, re.M))
    shorten(tmp_path / STUDY / "claims.toml", lambda entry: 'id = "A-13"' not in entry)  # which compares algorithms
    script = tmp_path / "experiments" / "workloads" / "stable_baselines3_loop.py"
    before, learn, after = script.read_text().partition("    agent.learn(")
    assert learn
    script.write_text(f"{before.rstrip()}{TWICE}{learn}{after}")

    run = ["-m", "experiments.algorithm_choice.run", "--budget", "smoke", "--repetitions", "3", "--output", "output"]
    for status, command in enumerate((run, ["scripts/check_claims.py", "output"])):
        ended = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": ""},
            capture_output=True,
            text=True,
        )
        broken = [line for line in ended.stderr.splitlines() if " is broken: " in line]
        assert len(broken) == 1, ended.stderr
        assert broken[0].startswith("rlscope: ours (Walker2d-v5) is broken: A timestep of SAC has one update")
        assert ", 726 (726 to 726, n=3 runs) now" in broken[0]
        assert ended.returncode == status
