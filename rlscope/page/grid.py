"""Bins of equal width over the life of a process, and what it did in each, packed for the page.

A run of 60 s with one process has 65,536 bins of 0.92 ms. A bin holds the exact ticks of each series, so that the page
can add up any range of bins without an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rlscope.analysis.sweep import ProcessSweep
from rlscope.analysis.tables.calls import detail_of
from rlscope.model import NO_PHASE
from rlscope.page.container import Array

#: Of all processes together; a power of two.
MOST_BINS = 1 << 17
FEWEST_BINS = 256
MOST_BINS_OF_A_PROCESS = 1 << 16
MOST_SERIES = 64
OTHERS = "(others)"

#: Stage, operation, category, resource.
Series = tuple[str, str, str, str]


def bins_for(processes: int) -> int:
    """Count the bins of each process in a page with so many of them."""
    bins = FEWEST_BINS
    while bins * 2 * processes <= MOST_BINS and bins * 2 <= MOST_BINS_OF_A_PROCESS:
        bins *= 2
    return bins


@dataclass(frozen=True)
class PackedBins:
    """The bins of a process, packed.

    Attributes:
        series: What each bit of a mask stands for.
        shift: Ticks are stored as multiples of 2 ** shift; 0 unless a bin has more ticks than 32 bits hold.
        mask: Of each bin, ceil(series / 8) bytes with a bit for each series that has ticks in it, the lowest first.
        values: The ticks that are not zero, by bin and then by series.
    """

    series: tuple[Series, ...]
    shift: int
    mask: Array
    values: Array


def phase_bins(process: ProcessSweep) -> tuple[Array, Array, Array]:
    """Cut the phases of a process at the borders of bins.

    Returns:
        Of each piece its bin, the place of its phase in `phase_names`, and its ticks. Shape of each: (pieces,).
    """
    detail = detail_of(process)
    borders, starts = np.frombuffer(detail.borders, "<u8"), np.frombuffer(detail.phase_starts, "<u8")
    life = np.array([process.found.start_ticks, process.found.end_ticks], "u8")
    edges = np.unique(np.concatenate([borders, starts, life]).clip(*life))
    before = np.array([detail.phase_names.index(NO_PHASE)], "u4")
    phase_at = np.concatenate([before, np.frombuffer(detail.phases, "<u4")])
    return (
        np.searchsorted(borders, edges[:-1], side="right").astype("u4"),
        phase_at[np.searchsorted(starts, edges[:-1], side="right")],
        np.diff(edges),
    )


def pack_bins(series: Sequence[Series], bin_of: Array, series_of: Array, ticks: Array, bins: int) -> PackedBins:
    """Packs the entries of a sweep's bins.

    Args:
        series: What the numbers in `series_of` stand for.
        bin_of: The bin of each entry. Shape: (entries,).
        series_of: Its series. Shape: (entries,).
        ticks: Its ticks. Shape: (entries,).
        bins: How many bins there are; entries behind them are left out.
    """
    inside = bin_of < bins
    names, place_of = largest_series(series, series_of[inside], ticks[inside])
    table = np.zeros((bins, max(len(names), 1)), dtype=np.uint64)
    np.add.at(table, (bin_of[inside], place_of[series_of[inside]]), ticks[inside])
    most = int(table.max(initial=0))
    shift = max(most.bit_length() - 32, 0)
    table >>= np.uint64(shift)
    has_ticks = table != 0
    mask = np.packbits(has_ticks, axis=1, bitorder="little").ravel()
    return PackedBins(names, shift, mask, table[has_ticks].astype(np.uint32))


def largest_series(series: Sequence[Series], series_of: Array, ticks: Array) -> tuple[tuple[Series, ...], Array]:
    """Return the series that a page shows, and the place of each given one among them.

    The 64 largest are shown. Of more, the rest is one series per stage, category and resource, in the operation
    `(others)`.
    """
    sums = np.bincount(series_of, weights=ticks, minlength=len(series))
    order = sorted(range(len(series)), key=lambda number: (-sums[number], series[number]))
    places: dict[Series, int] = {}
    place_of = np.zeros(max(len(series), 1), dtype=np.int64)
    for rank, number in enumerate(order):
        stage, operation, category, resource = series[number]
        name = (
            stage,
            operation if len(series) <= MOST_SERIES or rank < MOST_SERIES // 2 else OTHERS,
            category,
            resource,
        )
        place_of[number] = places.setdefault(name, len(places))
    return tuple(places), place_of
