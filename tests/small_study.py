"""A small study for tests: a matrix of runs that note each time they are started."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

SWEEP = Path(__file__).resolve().parent / "scripts" / "sweep.py"
#: What all workloads do; they note each time they are started.
LOOP = """
import os, pathlib, sys, time
import rlscope

def run(name, seconds):
    seed = sys.argv[sys.argv.index("--seed") + 1]
    with open(pathlib.Path(__file__).with_name("journal.txt"), "a") as journal:
        print(name, seed, os.getpid(), file=journal)
    for iteration in range(10):
        with rlscope.operation("step"):
            time.sleep(seconds / 10)
        rlscope.report_progress(timesteps=iteration + 1, total_timesteps=1000)
"""
RUNS = """
script = "unused.py"
total_timesteps = 1000
threads = 1
time_limit_s = 20
[budget.quick]
repetitions = {repetitions}
minutes = 1
[[group]]
name = "E"
id = "E"
package = "numpy"
quick = {{ delay_iterations = 1, max_iterations = 8, timesteps_per_iteration = 1 }}
"""
WORKLOAD = """
[[workload]]
name = "{name}"
script = "{script}"
label = "{name}"
kind = "all"
arguments = []
"""


class Matrix:
    """A folder with the matrix of a small study, and what has become of its runs."""

    def __init__(self, folder: Path, workloads: dict[str, str], repetitions: int, name: str = "study") -> None:
        self.folder, self.output = folder / name, folder / "output"
        self.repetitions = repetitions
        self.folder.mkdir()
        (self.folder / "loop.py").write_text(LOOP)
        text = RUNS.format(repetitions=repetitions)
        for name, code in workloads.items():
            script = self.folder / f"{name}.py"
            script.write_text(f"import loop\nfrom {name}_parameters import SECONDS\n{code}\n")
            (self.folder / f"{name}_parameters.py").write_text("SECONDS = 1\n")
            text += WORKLOAD.format(name=name, script=script)
        (self.folder / "runs.toml").write_text(text)

    def sweep(self, how: str, environment: dict[str, str] | None = None) -> "subprocess.Popen[str]":
        """Starts the command that records it."""
        return subprocess.Popen(
            [sys.executable, str(SWEEP), str(self.folder), str(self.output), how],
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def started(self) -> list[tuple[str, int]]:
        """The runs that were started so far, and their processes."""
        journal = self.folder / "journal.txt"
        lines = [line.split() for line in journal.read_text().splitlines()] if journal.exists() else []
        return [(f"{name}/{seed}", int(pid)) for name, seed, pid in lines]

    def counts(self) -> Counter[str]:
        """How often each run was started."""
        return Counter(name for name, _ in self.started())

    def manifests(self) -> dict[str, dict[str, Any]]:
        """What complete runs have left."""
        found = {}
        for path in self.output.glob("runs/E/*/repetition_*/manifest.json"):
            manifest = json.loads(path.read_text())
            if manifest["complete"]:
                found[f"{path.parent.parent.name}/{path.parent.name.removeprefix('repetition_')}"] = manifest
        return found

    def all_runs(self, *names: str) -> set[str]:
        return {f"{name}/{repetition}" for name in names for repetition in range(self.repetitions)}
