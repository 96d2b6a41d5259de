"""Runs scripts under `rlscope record` the way a user does, and reads what was recorded."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from rlscope import _analysis
from rlscope.cli.main import main

SCRIPTS = Path(__file__).parent / "scripts"
RLSCOPE = (sys.executable, "-m", "rlscope")


def call_here(*words: object) -> "subprocess.CompletedProcess[str]":
    """What a verb does, in this process, because starting one for each of so many would take minutes."""
    status: object = 0
    arguments = [os.fspath(word) if isinstance(word, Path) else str(word) for word in words]
    with redirect_stdout(StringIO()) as stdout, redirect_stderr(StringIO()) as stderr:
        try:
            main(arguments)
        except SystemExit as ended:
            status = ended.code
    assert isinstance(status, int)
    return subprocess.CompletedProcess(arguments, status, stdout.getvalue(), stderr.getvalue())


@dataclass(frozen=True)
class Recording:
    """A recorded run: the trace and what the program printed."""

    trace: Path
    returncode: int
    stdout: str
    stderr: str

    @cached_property
    def analysis(self) -> dict[str, Any]:
        """`rlscope analyze --json`, checked for the invariant that holds on every trace."""
        finished = rlscope("analyze", self.trace, "--json")
        assert finished.returncode == 0, finished.stderr
        result: dict[str, Any] = json.loads(finished.stdout)
        assert_sums_to_wall(result)
        return result

    @cached_property
    def printed(self) -> Any:
        """What the program said of itself: the last line that it printed, which is JSON."""
        return json.loads(self.stdout.splitlines()[-1])

    @property
    def files(self) -> list[Path]:
        return sorted(self.trace.glob("*.rlscope"))

    def sweeps(self) -> list[Mapping[str, Any]]:
        """Each process file, decoded."""
        return [_swept(path) for path in self.files]

    def sweep_of(self, process: str) -> Mapping[str, Any]:
        """The process of that name."""
        for swept in self.sweeps():
            if swept["properties"].get("process_name") == process:
                return swept
        raise AssertionError(f"no process {process} in {self.trace}")

    @property
    def main_file(self) -> Path:
        """Of the process that was started by the command."""
        pid = json.loads((self.trace / "manifest.json").read_text())["main_pid"]
        return self.trace / f"{pid}-0.rlscope"

    def main_sweep(self) -> Mapping[str, Any]:
        """The process that was started by the command."""
        return _swept(self.main_file)

    def seconds(self, **wanted: str) -> float:
        """Seconds of the breakdown rows that match."""
        rows = self.analysis["breakdown"]
        return sum(row["seconds"] for row in rows if all(row[key] == value for key, value in wanted.items()))

    def entries(self, source: str = "python", target: str = "backend") -> dict[tuple[str, str], int]:
        """Crossings from one category into another, by stage and operation."""
        return {
            (row["stage"], row["operation"]): row["count"]
            for row in self.analysis["transitions"]
            if (row["from"], row["to"]) == (source, target)
        }

    def layer_seconds(self, category: str, **wanted: str) -> float:
        """Seconds of a layer as a stopwatch has them: also those in which the thread in it had no core."""
        return self.seconds(category=category, **wanted) + self.seconds(ready_in=category, **wanted)


def _swept(path: Path) -> dict[str, Any]:
    """What the sweep finds in a file, by name."""
    found = _analysis.sweep(path)
    return vars(found) | {"complete": found.complete}


def assert_sums_to_wall(analysis: dict[str, Any]) -> None:
    for process in analysis["processes"]:
        total = sum(row["seconds"] for row in analysis["breakdown"] if row["process"] == process["process"])
        assert abs(total - process["wall_s"]) <= 1e-6 * process["wall_s"] + 1e-12, process


def environment() -> dict[str, str]:
    """One thread per library, so that runs are comparable; nothing of this process's own recording."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("RLSCOPE_")}
    return {**clean, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def rlscope(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RLSCOPE, *map(str, arguments)], capture_output=True, text=True, env=environment(), timeout=250, **options
    )


def record(trace: Path, *command: object, options: tuple[str, ...] = (), cwd: Path | None = None) -> Recording:
    """Runs a command recorded. A name that ends in .py is one of tests/scripts."""
    words = [str(word) for word in command]
    if words[0].endswith(".py"):
        words = [sys.executable, str(SCRIPTS / words[0]) if not os.path.isabs(words[0]) else words[0], *words[1:]]
    finished = rlscope("record", "-o", trace, *options, "--", *words, cwd=cwd or trace.parent)
    return Recording(trace, finished.returncode, finished.stdout, finished.stderr)


def run_plain(*command: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a script of tests/scripts without recording."""
    words = [sys.executable, str(SCRIPTS / str(command[0])), *map(str, command[1:])]
    return subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=250, cwd=cwd)
