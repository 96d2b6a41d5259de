"""Runs programs with the Python of a framework's environment; skips the test where that is not installed."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from recording import Recording, environment

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "tests" / "frameworks" / "programs"
WORKLOADS = ROOT / "experiments" / "workloads"


def python_of(name: str) -> Path:
    """The Python of an environment."""
    python = ROOT / ".venvs" / name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"the environment .venvs/{name} is not installed: install_experiments makes it")
    return python


def run_in(
    name: str, *command: object, seconds: float = 280, cwd: str | Path = os.sep, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """Runs a program, or a module after `-m`, in a folder and with further environment variables.

    A folder on PYTHONPATH would come before the environment's own rlscope, so there is none.
    """
    words = [str(python_of(name)), *map(str, command)]
    clean = {key: value for key, value in environment().items() if key != "PYTHONPATH"}
    return subprocess.run(
        words, capture_output=True, text=True, env={**clean, **variables}, timeout=seconds, cwd=cwd, check=False
    )


def record_in(
    name: str,
    trace: Path,
    program: str | Path,
    *arguments: object,
    options: tuple[str, ...] = (),
    cwd: str | Path = os.sep,
    **variables: str,
) -> Recording:
    """Runs a program, of PROGRAMS unless its path is absolute, under the environment's own `rlscope record`."""
    command = ("-m", "rlscope", "record", "-o", trace, *options, "--", python_of(name), PROGRAMS / program, *arguments)
    finished = run_in(name, *command, cwd=cwd, **variables)  # type: ignore[arg-type]
    assert finished.returncode == 0, finished.stderr[-4000:]
    return Recording(trace, finished.returncode, finished.stdout, finished.stderr)


def assert_callbacks(recording: Recording, printed: dict[str, Any], operation: str, category: str) -> None:
    """A category has the time that callbacks took by their own clock, and no more than the calls took that called them.

    What lies between the two, a library's own Python around the callback, takes long where the machine interrupts it.
    """
    seconds = recording.layer_seconds(category, operation=operation)
    least, most = printed["in_callbacks"][operation], printed["seconds"][operation]
    assert 0.99 * least <= seconds <= 1.01 * most, f"{operation}: expected {least} to {most} s, found {seconds}"
