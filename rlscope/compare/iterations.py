"""This file makes a group of the iterations of a run, of which neighbours are alike: a slow one follows a slow one."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rlscope.compare.estimate import Group, errors_at

Values: TypeAlias = npt.NDArray[np.floating[Any]]

#: Neighbours are not taken to be more alike than this: the effective number would be none.
MOST_ALIKE = 0.97
#: From so many iterations on, means of batches show what neighbours alone do not.
ENOUGH_FOR_BATCHES = 200
BATCHES = 5


def iterations_of(series: list[Values]) -> Group:
    """Return the group of the iterations of one run, or of few runs, in which neighbours are alike.

    The mean of n values of which neighbours have the correlation r scatters as that of n(1-r)/(1+r) independent ones:
    200 iterations with a correlation of 0.5 count as 67. From 200 iterations on, five batches of them are looked at
    too, and what gives the wider interval holds.

    Args:
        series: of each run its values in order, two or more in all. Shape of each: (iterations,).
    """
    values = np.concatenate(series)
    count, mean = len(values), float(values.mean())
    is_positive = bool(values.min() >= 0 < mean)
    effective = count * (1 - alike(series)) / (1 + alike(series))
    error = float(values.std(ddof=1)) / np.sqrt(effective)
    found = Group(mean, float(error), max(effective - 1, 1.0), is_positive)
    if count < ENOUGH_FOR_BATCHES:
        return found
    means = np.array([batch.mean() for batch in np.array_split(values, BATCHES)])
    batched = Group(mean, float(means.std(ddof=1) / np.sqrt(BATCHES)), BATCHES - 1, is_positive)
    return max(found, batched, key=lambda group: group.error * errors_at(0.95, group.degrees))


def alike(series: list[Values]) -> float:
    """Return the correlation of neighbours, from 0 to 0.97, without what few values make it too small by."""
    values = np.concatenate(series)
    count = len(values)
    around = values - values.mean()
    squares = float(np.dot(around, around))
    if squares == 0:
        return 0.0
    ends = np.cumsum([len(each) for each in series])[:-1]
    products = around[1:] * around[:-1]
    raw = float(np.delete(products, ends - 1).sum()) / squares
    return float(np.clip(raw + (1 + 3 * raw) / count, 0.0, MOST_ALIKE))
