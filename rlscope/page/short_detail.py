"""Folds the functions that took least into one per stage and layer, so that a page can hold what a sweep found."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rlscope.analysis.detail.swept import SweptDetail, SweptFunction
from rlscope.page.container import Array
from rlscope.page.grid import OTHERS

#: Functions of operations that a page tells apart: of all processes together, and of one.
MOST_FUNCTIONS = 16_384
MOST_FUNCTIONS_OF_A_PROCESS = 4_096
FEWEST_FUNCTIONS = 16


def functions_for(processes: int, shrink: int) -> int:
    """Return how many functions of each process a page tells apart: one half as many for each step of `shrink`."""
    return max(min(MOST_FUNCTIONS // processes, MOST_FUNCTIONS_OF_A_PROCESS) >> shrink, FEWEST_FUNCTIONS)


def short_detail(detail: SweptDetail, most: int) -> SweptDetail:
    """Return the detail with at most so many functions, and one called `(others)` per stage, layer and resource.

    Up to one half of them took longest in a single iteration, for these say why one was slow. The others are those with
    most time. Sums stay what they were.
    """
    functions = detail.functions
    if len(functions) <= most:
        return detail
    iteration, function = (np.frombuffer(each, "<u4") for each in (detail.iterations, detail.iteration_functions))
    ticks = np.frombuffer(detail.iteration_ticks, "<u8")
    longest = np.zeros(len(functions), np.uint64)
    np.maximum.at(longest, function, ticks)
    in_all = np.fromiter((row.ticks for row in functions), np.uint64, len(functions))
    kept = np.zeros(len(functions), bool)
    slow = np.argsort(longest, kind="stable")[::-1][: most // 2]
    kept[slow[longest[slow] > 0]] = True
    large = np.argsort(in_all, kind="stable")[::-1]
    kept[large[~kept[large]][: most - np.count_nonzero(kept)]] = True
    rows, place_of = folded(functions, kept)
    # One entry for each iteration and function, in order of iterations.
    keys, entry_of = np.unique(iteration.astype(np.uint64) * len(rows) + place_of[function], return_inverse=True)
    sums = np.zeros(len(keys), np.uint64)
    np.add.at(sums, entry_of, ticks)
    return replace(
        detail,
        functions=rows,
        iterations=(keys // len(rows)).astype("<u4").tobytes(),
        iteration_functions=(keys % len(rows)).astype("<u4").tobytes(),
        iteration_ticks=sums.astype("<u8").tobytes(),
    )


def folded(functions: Sequence[SweptFunction], kept: Array) -> tuple[list[SweptFunction], Array]:
    """Return the functions that are kept, behind them the sums of the others, and the place of each among these."""
    rows = [row for row, is_kept in zip(functions, kept, strict=True) if is_kept]
    place_of = np.cumsum(kept, dtype=np.uint64) - 1
    others: dict[tuple[str, str, str], list[int]] = {}  # their place, calls and ticks
    for number in np.flatnonzero(~kept).tolist():
        row = functions[number]
        sums = others.setdefault((row.stage, row.category, row.resource), [len(rows) + len(others), 0, 0])
        sums[1] += row.calls
        sums[2] += row.ticks
        place_of[number] = sums[0]
    rows += [
        SweptFunction(stage, OTHERS, category, resource, OTHERS, calls, ticks)
        for (stage, category, resource), (_, calls, ticks) in others.items()
    ]
    return rows, place_of
