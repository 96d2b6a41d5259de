"""What `analyze` and `report` say of operations that do not simply nest."""

from rlscope.analysis.breakdown import Analysis

TASKS_TITLE = "Operations of coroutines and generators"
TASKS_CAPTION = (
    f"{TASKS_TITLE}: the seconds in which they ran, and the time from their beginning to their end, waiting included"
)


def misnested_lines(analysis: Analysis) -> list[str]:
    """One line if operations were closed before their own end."""
    count = analysis.misnested_operations
    if not count:
        return []
    what = "operation was" if count == 1 else "operations were"
    return [
        f"{count:,} {what} closed by the end of another operation that had begun earlier, before their own end; the "
        "time from there on is not in their figures"
    ]
