"""Chooses the samples that the page draws by themselves, and packs them into columns."""

from collections.abc import Sequence

import numpy as np

from rlscope.analysis.detail.swept import SweptSampleSpan
from rlscope.page.container import Array

#: Samples of all processes together that have a track of their own.
MOST_SAMPLES = 8192


def longest_samples(samples: Sequence[SweptSampleSpan], most: int) -> Sequence[SweptSampleSpan]:
    """Return so many of the samples that took longest, in the order that they had."""
    order = sorted(range(len(samples)), key=lambda place: samples[place].start_ticks - samples[place].end_ticks)
    return [samples[place] for place in sorted(order[:most])]


def sample_columns(samples: Sequence[SweptSampleSpan], names: Sequence[str], start_ticks: int) -> dict[str, Array]:
    """Return a column of each property of samples.

    Args:
        samples: Those that are shown.
        names: The names of samples; a sample has the place of its own.
        start_ticks: Where the process begins: starts are ticks from there.

    Returns:
        By name, unsigned integers of shape (samples,).
    """
    places = {name: place for place, name in enumerate(names)}
    columns = {
        "starts": [max(row.start_ticks - start_ticks, 0) for row in samples],
        "ticks": [row.end_ticks - max(row.start_ticks, start_ticks) for row in samples],
        "queued": [row.queue_ticks for row in samples],
        "versions": [row.version for row in samples],
        "staleness": [row.staleness for row in samples],
        "tokens": [row.tokens for row in samples],
        "discarded": [int(row.is_discarded) for row in samples],
        "names": [places[row.name] for row in samples],
    }
    return {name: np.array(column, np.uint64) for name, column in columns.items()}
