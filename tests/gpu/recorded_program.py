"""A program that says at its end what its stopwatch saw, recorded, beside the analysis of its trace."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def beside_analysis(
    trace: Path, program: Sequence[object], options: Sequence[str] = (), analyze: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Record a Python program with options; `analyze` are options of the analysis.

    Returns:
        What the last line of the program says, and the analysis, with nothing taken off.
    """
    record = [sys.executable, "-m", "rlscope", "record", "--force", "-o", str(trace), *options, "--"]
    command = [*record, sys.executable, *map(str, program)]
    recorded = subprocess.run(command, capture_output=True, text=True)
    if recorded.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {recorded.returncode}:\n{recorded.stderr[-2000:]}")
    analysis = [sys.executable, "-m", "rlscope", "analyze", str(trace), "--json", "--correct", "none", *analyze]
    analyzed = subprocess.run(analysis, capture_output=True, text=True, check=True)
    return json.loads(recorded.stdout.splitlines()[-1]), json.loads(analyzed.stdout)
