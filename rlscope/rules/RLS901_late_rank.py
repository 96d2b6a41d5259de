"""Give all ranks as much to do.

**Why it is slow.** An all-reduce ends when the last rank has come: all others wait for it in each update.

**Slow**

    if rank == 0:
        evaluate(policy)                           # while all others wait in the next update

**Faster**

    evaluate_in_another_process(policy)            # or a share of the episodes on each rank

**How it is found.** One rank is the last in most parts of the run, and the others wait for it for an eighth of the
training or more.

**When it is wrong.** Where each is the last in turn, the reason is chance, and this rule finds nothing.

**Reported:** pytorch/pytorch #71303, traceopt-ai/traceml #252.
"""

from collections.abc import Iterator

from rlscope.model import CATEGORIES
from rlscope.rules.evidence import Evidence
from rlscope.rules.finding import Found
from rlscope.text.numbers import duration


def find(evidence: Evidence) -> Iterator[Found]:
    """Look for ranks that keep the others waiting."""
    for row in evidence.tables.stragglers:
        if row.stands_out:
            layer = CATEGORIES[row.cause].words if row.cause in CATEGORIES else row.cause
            why = f", with {duration(row.cause_s)} more of {layer}" if row.cause_s > row.late_s / 2 else ""
            change = f"give {row.process} less to do: the others wait {duration(row.others_wait_s)} for it{why}"
            yield Found(change, f"stragglers: process={row.process}", row.others_wait_s)
