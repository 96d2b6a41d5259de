"""What executing a run of a study leaves besides its trace, made up for tests of studies."""

import json
from collections.abc import Mapping
from typing import Any

from experiments.harness.execute import LOG, MANIFEST, Execution
from experiments.harness.progress import StudyRun
from rlscope.build import built_from

VERSIONS = {"torch": "2.11"}


def leave_run(
    planned: StudyRun, printed: Mapping[str, Any] | None = None, versions: Mapping[str, str] = VERSIONS
) -> Execution:
    """Write a run's manifest, and what it printed, if anything, into its directory.

    Args:
        planned: the run.
        printed: figures, as the last line of its output.
        versions: of packages, as its manifest has them.

    Returns:
        An execution whose trace is for the caller to write.
    """
    planned.directory.mkdir(parents=True, exist_ok=True)
    manifest = {
        "machine": {"cpu": "a processor", "cores": 2, "memory_bytes": 1 << 30, "kernel": "6.1"},
        "node": "here",
        "started": "2026-11-22T10:00:00+00:00",
        "built_from": built_from(),
        "description": {"python": "/bin/python", "versions": dict(versions)},
    }
    (planned.directory / MANIFEST).write_text(json.dumps(manifest))
    if printed is not None:
        (planned.directory / LOG).write_text(json.dumps(printed) + "\n")
    return Execution(planned.run, planned.directory / "trace", 1.0, was_complete=False)
