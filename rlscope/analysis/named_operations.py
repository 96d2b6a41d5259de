"""This file finds the operations that the user named and no process of a run came across."""

from collections.abc import Iterable

from rlscope.analysis.sweep import ProcessSweep
from rlscope.text import encodable

#: What the recorder calls the property of a process: of each named operation why it was not met there, null if it was.
PROPERTY = "named_operations"


def unmet_operations(processes: Iterable[ProcessSweep]) -> tuple[str, ...]:
    """Return one sentence for each, with the reason of the process that came closest to it."""
    reasons: dict[str, set[object]] = {}
    for process in processes:
        named = process.found.properties.get(PROPERTY)
        if isinstance(named, dict):
            for text, why_not in named.items():
                reasons.setdefault(text, set()).add(why_not if isinstance(why_not, str) else None)
    return tuple(
        encodable(f"operation {text} was not recorded: {_closest(whys)}")
        for text, whys in reasons.items()
        if None not in whys
    )


def _closest(reasons: set[object]) -> str:
    """Return a process that imported the module says more than one that did not."""
    return min(map(str, reasons), key=lambda why: (why.endswith("never imported"), why))
