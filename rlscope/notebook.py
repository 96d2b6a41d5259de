"""RL-Scope in a notebook: an analysis that displays itself, and `%%rlscope`, which records a cell."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.analyze import analyze as analyze_trace
from rlscope.calibration.choice import AUTO, chosen
from rlscope.errors import UsageError
from rlscope.record import recorder
from rlscope.record.profile import profile
from rlscope.trace.reader import open_trace

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

#: Hold the traces of cells that name no directory, until the kernel ends.
_kept: list[tempfile.TemporaryDirectory[str]] = []


def analyze(trace: str | os.PathLike[str], recover: bool = False, correct: str = AUTO) -> Analysis:
    """Return what `rlscope analyze` shows of a trace; its tables are such as `analysis.breakdown.table`.

    Args:
        trace: The directory.
        recover: Step over damaged parts rather than raise.
        correct: "auto", "none" or the name of a file, as `--correct` takes them.

    Raises:
        TraceError: the directory holds no trace that can be read.
    """
    opened = open_trace(Path(trace), recover)
    return analyze_trace(opened, recover, correction=chosen(opened, correct))


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Make `%%rlscope` known to a notebook, for `%load_ext rlscope`."""

    def rlscope(line: str, cell: str) -> Analysis:
        """Record a cell, and return the analysis: `%%rlscope`, or `%%rlscope DIRECTORY` to keep the trace there."""
        if recorder.active is not None:
            raise UsageError("this process is recorded already; record a cell in a kernel that is not")
        directory = Path(line.strip()) if line.strip() else _new_directory()
        with profile(directory):
            result = shell.run_cell(cell)
        result.raise_error()
        return analyze(directory)

    shell.register_magic_function(rlscope, "cell")


def _new_directory() -> Path:
    _kept.append(tempfile.TemporaryDirectory(prefix="rlscope-cell-"))
    return Path(_kept[-1].name) / "trace"
