"""Several traces side by side: how long each was, and where its time went, as bars of one scale."""

from collections.abc import Mapping, Sequence
from typing import Any

from rlscope.analysis.rows import sums
from rlscope.model import CATEGORIES, NO_OPERATION
from rlscope.page.bars import stacked_bar
from rlscope.text import as_html
from rlscope.text.numbers import count, duration


def overview(traces: Sequence[Mapping[str, Any]]) -> str:
    """Show the traces of the header as rows of a table.

    Bars are the time of all processes in operations: of two runs that spent 4 s and 2 s there, the second one's bar is
    half as long. What is outside operations, such as starting up, would hide what differs.
    """
    layers = [layers_of(trace["document"]) for trace in traces]
    longest = max(sum(seconds.values()) for seconds in layers) or 1
    rows = "".join(row(trace, seconds, longest) for trace, seconds in zip(traces, layers, strict=True))
    numbers = "".join(f"<th class='number'>{head}</th>" for head in ("length", "iterations", "in operations"))
    legend = " ".join(f'<span class="layer key-{layer}">{layer}</span>' for layer in CATEGORIES)
    head = f"<th>trace</th>{numbers}<th>{legend}</th>"
    caption = "The traces, and how long all their processes were in operations, by layer"
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def layers_of(document: Mapping[str, Any]) -> dict[str, float]:
    """Return the seconds in operations by layer, corrected where the trace is."""
    column = "seconds" if document["correction"] is None else "corrected_seconds"
    inside = [row for row in document["breakdown"] if row["operation"] != NO_OPERATION]
    return sums((row["category"], row[column] or 0.0) for row in inside)


def row(trace: Mapping[str, Any], layers: Mapping[str, float], longest: float) -> str:
    """Return a trace's row; its bar has one part per layer."""
    parts = [(layers.get(layer, 0.0) / longest, layer) for layer in CATEGORIES]
    iterations = trace["document"]["iterations"]
    return (
        f"<tr><td>{as_html(trace['name'])}</td><td class='number'>{duration(trace['length_s'])}</td>"
        f"<td class='number'>{'' if iterations is None else count(iterations)}</td>"
        f"<td class='number'>{duration(sum(layers.values()))}</td><td>{stacked_bar(parts)}</td></tr>"
    )
