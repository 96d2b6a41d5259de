"""The sentence of advice that names the line of Python in which most of the largest cause's time is."""

from collections.abc import Iterable, Iterator

from rlscope.analysis.advice.causes import OF_CATEGORY, Cause, CauseTime
from rlscope.analysis.rows import sums
from rlscope.analysis.run_tables import RunTables
from rlscope.text.numbers import duration, percent

#: A line with a smaller share is not worth naming.
LEAST_SHARE = 0.05

#: A function, its file and a line in it.
Line = tuple[str, str, int]


def line_sentences(tables: RunTables, process: str, cause: CauseTime) -> Iterator[str]:
    """Name the line of a process that had most of a cause in the stage in which most of it was.

    It says nothing if stacks were not looked at, or where no line has a share that is worth naming.
    """
    found = _largest(_times(tables, (process, cause.stage), cause.cause))
    if found is None:
        return
    (function, file, line), seconds, share = found
    place = f"{file}:{line} ({function})"
    if cause.cause is Cause.PYTHON:
        yield f"{percent(share)} of Python's time in {cause.stage} ({duration(seconds)}) is in {place}."
    elif cause.cause is Cause.GPU:
        yield f"{percent(share)} of the waits for the GPU in {cause.stage} ({duration(seconds)}) are in {place}."
    else:
        of_cause = f"the time of {cause.cause.words} in {cause.stage}"
        yield f"About {percent(share)} of {of_cause} is of calls in {place}."


def _times(tables: RunTables, where: tuple[str, str], cause: Cause) -> Iterator[tuple[Line, float]]:
    """Yield lines with their seconds; `where` is a process and a stage."""
    if cause is Cause.PYTHON:
        for line in tables.lines:
            if (line.process, line.stage) == where:
                yield (line.function, line.file, line.line), line.seconds
    elif cause is Cause.GPU:
        for point in tables.sync_points:
            if (point.process, point.stage) == where:
                of_line = point.line_stacks / point.stacks if point.stacks else 0.0
                yield (point.caller, point.file, point.line), of_line * point.seconds
                yield ("", "", 0), (1 - of_line) * point.seconds
    elif cause is not Cause.WAITING:  # of which calls are no part: waits have lines of their own
        for site in tables.call_sites:
            if (site.process, site.stage) == where and OF_CATEGORY[site.category] is cause:
                yield (site.caller, site.file, site.line), site.seconds


def _largest(seconds: Iterable[tuple[Line, float]]) -> tuple[Line, float, float] | None:
    """Return the line with most seconds, these, and their share of all; None if that is not worth naming."""
    found = sums(seconds)
    known = {line: taken for line, taken in found.items() if line[2]}
    if not known:
        return None
    line = max(known, key=lambda each: known[each])
    share = known[line] / sum(found.values()) if known[line] else 0.0
    return (line, known[line], share) if share >= LEAST_SHARE else None
