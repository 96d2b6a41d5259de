"""This file reads what a workload prints about itself at its end: a line of JSON in its log."""

import json
from pathlib import Path
from typing import Any

from rlscope.errors import IncompleteTraceError


def figures_in(log: Path, script: str) -> dict[str, Any]:
    """Return the last line of JSON that a workload printed.

    Args:
        log: of its run.
        script: its name, for people.

    Raises:
        IncompleteTraceError: There is none.
    """
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("{")]
    if not lines:
        raise IncompleteTraceError(f"{log}: expected the line of JSON that {script} prints, found none. Run it again")
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures
