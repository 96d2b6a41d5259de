"""What executing a run of a study leaves besides its trace, made up for tests of studies."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from experiments.harness import case_study
from experiments.harness.execute import LOG, MANIFEST, Execution
from experiments.harness.progress import StudyRun
from experiments.verdicts import other_machines
from rlscope.build import built_from

VERSIONS = {"torch": "2.11"}


def on(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """Let studies find such a device, and every package."""
    for module in (case_study, other_machines):
        monkeypatch.setattr(module, "device", lambda: device)
    monkeypatch.setattr(case_study, "python_of", lambda environment, package: Path("python"))


def leave_run(
    planned: StudyRun,
    printed: Mapping[str, Any] | None = None,
    versions: Mapping[str, str] = VERSIONS,
    gpus: tuple[str, ...] = (),
) -> Execution:
    """Write a run's manifest, and what it printed, if anything, into its directory.

    Args:
        planned: the run.
        printed: figures, as the last line of its output.
        versions: of packages, as its manifest has them.
        gpus: of the machine.

    Returns:
        An execution whose trace is for the caller to write.
    """
    planned.directory.mkdir(parents=True, exist_ok=True)
    machine: dict[str, Any] = {"cpu": "a processor", "cores": 2, "memory_bytes": 1 << 30, "kernel": "6.1"}
    manifest = {
        "machine": machine | ({"gpus": [*gpus]} if gpus else {}),
        "node": "here",
        "started": "2026-11-22T10:00:00+00:00",
        "built_from": built_from(),
        "description": {"python": "/bin/python", "versions": dict(versions)},
    }
    (planned.directory / MANIFEST).write_text(json.dumps(manifest))
    if printed is not None:
        (planned.directory / LOG).write_text(json.dumps(printed) + "\n")
    return Execution(planned.run, planned.directory / "trace", 1.0, was_complete=False)


def measured_on(device: str, budget: str = "quick") -> dict[str, Any]:
    """What is known of a machine that has measured, besides its measurements."""
    return {
        "device": device,
        "budget": budget,
        "command": "scripts/gpu_suite.sh OUTPUT a_study",
        "date": "2026-11-22",
        "machine": {"cpu": "a processor", "cores": 2, **({"gpus": ["NVIDIA H200"]} if device == "cuda" else {})},
        "versions": {"torch": "2.11"},
        "recorders": [built_from()],
    }
