"""Makes the page of one or more traces, small enough to be opened and sent anywhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.sweep import TraceSweep
from rlscope.page.assemble import page
from rlscope.page.container import Array, pack
from rlscope.page.overview import overview
from rlscope.page.static_part import footer, static_part
from rlscope.page.trace_data import TraceData

SCHEMA = 1
MOST_BYTES = 5_000_000
#: The widest bins are 2 ** 8 times as wide as the narrowest.
MOST_SHRINK = 8


@dataclass(frozen=True)
class Run:
    """A page shows this of one trace.

    Attributes:
        name: Tells it from the other traces of the page.
        swept: The trace, swept with bins.
        analysis: Its analysis.
        warnings: What must be known before its numbers are believed.
        remarks: What stands in the footer, such as how times were corrected.
        focus_s: Between these seconds from its start the page has all events, besides where it has them anyway.
    """

    name: str
    swept: TraceSweep
    analysis: Analysis
    warnings: Sequence[str] = ()
    remarks: Sequence[str] = ()
    focus_s: tuple[float, float] | None = None


def make_page(runs: Sequence[Run], links: Mapping[str, str] | None = None) -> str:
    """Make the page as HTML, of at most 5,000,000 bytes if that can be had.

    A page that is larger is made anew, with bins twice as wide, half the events, and tables and iterations half as
    long. The footer says what it came to.

    Args:
        runs: at least one.
        links: addresses beside the page, by what to call them.
    """
    text = ""
    for shrink in range(MOST_SHRINK + 1):
        text = shrunk_page(runs, links or {}, shrink)
        if len(text.encode()) <= MOST_BYTES:
            break
    return text


def shrunk_page(runs: Sequence[Run], links: Mapping[str, str], shrink: int) -> str:
    """Make the page with bins 2 ** shrink times as wide."""
    headers, static, below = [], [], []
    arrays: dict[str, Array] = {}
    for number, run in enumerate(runs):
        data = TraceData(run.name, run.swept, run.analysis, run.focus_s, shrink)
        header = data.header(f"t{number}.")
        headers.append(header)
        arrays.update(data.arrays)
        title = run.name if len(runs) > 1 else ""
        static.append(static_part(title, header, run.warnings))
        below.append(footer(title, header, run.swept.trace.manifest, run.remarks))
    if len(runs) > 1:
        from rlscope.page.comparison_part import compared  # and scipy, which a page of one trace does without

        static[:0] = [overview(headers), compared([(run.name, run.swept, run.analysis) for run in runs])]
    packed = pack({"schema": SCHEMA, "traces": headers}, arrays)
    names = ", ".join(run.name for run in runs)
    return page(f"RL-Scope: {names}", links, "".join(static), "".join(below), packed)
