"""RL-Scope in a notebook: an analysis that displays itself, and `%%rlscope`, which records a cell."""

import os
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.analysis import analyze as analyze_trace
from rlscope.calibration.calibration import AUTO, chosen
from rlscope.errors import UsageError
from rlscope.record import recorder
from rlscope.record.profile import profile
from rlscope.text import encodable
from rlscope.trace.reader import open_trace

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

#: Hold the traces of cells that name no directory, until the kernel ends.
_kept: list[tempfile.TemporaryDirectory[str]] = []


class OpenedAnalysis(Analysis):
    """The analysis of a trace, which also shows the page of the trace.

    Attributes:
        recover: Whether damaged parts are stepped over.
        correct: "auto", "none" or the name of a file, as `--correct` takes them.
    """

    def __init__(self, found: Analysis, recover: bool, correct: str) -> None:
        """Take over what was found."""
        vars(self).update(vars(found))
        self.recover = recover
        self.correct = correct

    def __repr__(self) -> str:
        """Return the lines that `rlscope analyze` prints."""
        from rlscope.report.first_screen import screen_lines  # which a program that records does not need
        from rlscope.report.screen import Screen

        return "\n".join(screen_lines(self, Screen.of_stdout()))

    def page(self) -> "Frame":
        """Return the page that `rlscope report` writes, for a notebook to show. It reads the trace once more."""
        from rlscope.page.grid import bins_for
        from rlscope.page.make_page import make_page
        from rlscope.report.page_run import page_run

        trace = open_trace(self.directory, self.recover)
        bins = bins_for(len(trace.processes))
        name = encodable(self.directory.resolve().name)
        run = page_run(name, trace, bins, self.recover, chosen(trace, self.correct))
        return Frame(make_page([run]))


@dataclass(frozen=True)
class Frame:
    """A page that a notebook shows in a frame. The page's script cannot reach the notebook or anything else.

    Attributes:
        html: The page.
    """

    html: str

    def _repr_html_(self) -> str:
        """Return the frame. It lets the page run its script, save tables and print, and no more."""
        # In ASCII: a notebook that is read in another encoding would change the script, and its policy refuses that.
        page = escape(self.html).encode("ascii", "xmlcharrefreplace").decode()
        return (
            f'<iframe sandbox="allow-scripts allow-downloads allow-modals" srcdoc="{page}" '
            'style="width: 100%; height: 48em; border: 0"></iframe>'
        )


def analyze(
    trace: str | os.PathLike[str], recover: bool = False, correct: str = AUTO, by: str | None = None
) -> OpenedAnalysis:
    """Return what `rlscope analyze` shows of a trace; its tables are such as `analysis.breakdown.table`.

    Args:
        trace: The directory.
        recover: Step over damaged parts rather than raise.
        correct: "auto", "none" or the name of a file, as `--correct` takes them.
        by: "function" for the tables `calls` and `iteration_times`, which take longer; else they are empty.

    Raises:
        TraceError: the directory holds no trace that can be read.
        UsageError: `by` is something else.
    """
    if by not in (None, "function"):
        raise UsageError(f'by="function" or nothing was expected, but by={by!r} was given')
    opened = open_trace(Path(trace), recover)
    found = analyze_trace(opened, recover, correction=chosen(opened, correct), by_function=by is not None)
    return OpenedAnalysis(found, recover, correct)


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """Make `%%rlscope` known to a notebook, for `%load_ext rlscope`."""

    def rlscope(line: str, cell: str) -> OpenedAnalysis:
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
