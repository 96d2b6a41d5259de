"""The sentences of advice on ranks that keep the others waiting."""

from collections.abc import Iterable, Iterator

from rlscope.analysis.advice.causes import OF_CATEGORY
from rlscope.analysis.ranks.rows import StragglerRow
from rlscope.text.numbers import digits, duration, percent


def straggler_sentences(stragglers: Iterable[StragglerRow]) -> Iterator[str]:
    """Say of each rank that keeps the others how late it is, why, and what that costs at most."""
    for row in stragglers:
        if not row.stands_out:
            continue
        late = f"by {duration(row.late_s)} in {row.calls:,} calls"
        if row.per_iteration_s is not None:
            late = f"by {duration(row.per_iteration_s)} in each iteration"
        gain = "" if row.speedup is None else f"; without that at most {digits(row.speedup)} times as fast"
        share = percent(row.others_wait_s / row.span_s)
        yield f"{row.process} is late {late}{_cause(row)}: the others wait {share} of the time for it{gain}."


def _cause(row: StragglerRow) -> str:
    """Say what it does for longer than the others, if that is as long as a half of what it is late."""
    if row.cause_s < row.late_s / 2:
        return ""
    cause = OF_CATEGORY[row.cause].words if row.cause in OF_CATEGORY else row.cause
    where = f"{cause}{f' in {row.stage}' if row.stage else ''}"
    return f" ({where}, {duration(row.cause_s)} more than the others)"
