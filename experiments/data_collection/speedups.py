"""This file computes what fused steps bring the hand-written kernel, by environments, state and computation."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import pandas as pd

from experiments.data_collection.throughput import SIMULATE, Series, Throughputs
from experiments.verdicts.statistics import TIMINGS, Estimate, estimated

FUSED_STEPS = 1000
#: The variant of the kernel that computes as the others do.
ACCURATE = "accurate"
#: With more state than that, no cache of a GPU hides that it is moved.
SATURATING_BYTES = 100e6
BYTES_OF_STATE = 16

#: Environments, steps per call, state factor and compute factor of a speedup.
Place = tuple[int, int, int, int]


def complexity_metrics(measured: Throughputs) -> dict[str, Estimate | None]:
    """Return what fusion brings simulators that move more memory, or compute more."""
    places = places_of(measured)
    return {
        "speedup_next_to_last_state": over_speedups(measured, series_over_state(places), smallest_growth),
        "speedup_at_most_state": over_speedups(measured, series_over_state(places), at_the_end),
        "least_of_best_speedups_to_steps": over_speedups(
            measured, all_steps(places), lambda found: min(best_to_steps(found).values())
        ),
        "most_of_best_speedups_to_steps": over_speedups(
            measured, all_steps(places), lambda found: max(best_to_steps(found).values())
        ),
        "speedup_at_most_compute": over_speedups(measured, series_over_compute(places), at_the_end),
        "speedup_next_to_last_compute": over_speedups(measured, series_over_compute(places), largest_growth),
        "speedup_spread_over_environments": over_speedups(measured, saturated(places), largest_spread),
        "product_of_gains_log2": product_of_gains(measured),
    }


def places_of(measured: Throughputs) -> list[Place]:
    """Return the places where the throughput of the hand-written kernel was measured fused and unfused."""
    return [
        (environments, series.steps_per_call, series.state_factor, series.compute_factor)
        for series, line in measured.lines.items()
        if is_hand_written(series) and series.steps_per_call > 1
        for environments in line
        if environments in measured.line(kernel(1, series.state_factor, series.compute_factor))
    ]


def is_hand_written(series: Series) -> bool:
    """Return whether it is of the kernel that has knobs for complexity."""
    return (series.quantity, series.implementation, series.variant) == (SIMULATE, "CUDA", ACCURATE)


def kernel(steps_per_call: int, state_factor: int, compute_factor: int) -> Series:
    """Return the kernel with its knobs."""
    return Series(SIMULATE, "CUDA", steps_per_call, ACCURATE, state_factor=state_factor, compute_factor=compute_factor)


def speedup_groups(measured: Throughputs, places: Sequence[Place]) -> dict[Place, Sequence[float]]:
    """Return the repetitions from which the speedups at these places follow, there and with one step per call."""
    return {
        (environments, steps, state, compute): measured.line(kernel(steps, state, compute))[environments]
        for place in places
        for environments, steps, state, compute in (place, unfused(place))
    }


def unfused(place: Place) -> Place:
    """Return the same place with one step per call."""
    environments, _, state, compute = place
    return environments, 1, state, compute


def speedups(means: Mapping[Place, float], places: Sequence[Place]) -> dict[Place, float]:
    """Return throughput with the steps of a call fused over that with one step per call."""
    return {place: means[place] / means[unfused(place)] for place in places}


def speedup_at(place: Place, means: Mapping[Place, float]) -> float:
    """Return the speedup at one place."""
    return speedups(means, [place])[place]


def over_speedups(
    measured: Throughputs, places: Sequence[Place], metric: Callable[[Mapping[Place, float]], float]
) -> Estimate | None:
    """Return a metric of the speedups at some places, which are at least two."""
    if len(places) < 2:
        return None
    return estimated(speedup_groups(measured, places), lambda means: metric(speedups(means, places)), TIMINGS)


def series_over_state(places: Sequence[Place]) -> list[Place]:
    """Return the places with all steps fused and one step's computation, in the order of state."""
    return longest_line([place for place in places if place[1] == FUSED_STEPS and place[3] == 1], by=2)


def series_over_compute(places: Sequence[Place]) -> list[Place]:
    """Return the places with all steps fused and one step's state, in the order of computation."""
    return longest_line([place for place in places if place[1] == FUSED_STEPS and place[2] == 1], by=3)


def longest_line(places: Sequence[Place], by: int) -> list[Place]:
    """Return the places of the number of environments that has most of them; of those with as many, of the largest."""
    if not places:
        return []
    environments = [place[0] for place in places]
    chosen = max(environments, key=lambda number: (environments.count(number), number))
    return sorted((place for place in places if place[0] == chosen), key=lambda place: place[by])


def all_steps(places: Sequence[Place]) -> list[Place]:
    """Return the places with one step's computation."""
    return [place for place in places if place[3] == 1]


def saturated(places: Sequence[Place]) -> list[Place]:
    """Return the places whose state no cache holds, where they are left of several numbers of environments."""
    large = [place for place in places if place[0] * place[2] * BYTES_OF_STATE > SATURATING_BYTES]
    alike = [place[1:] for place in large]
    return [place for place in large if alike.count(place[1:]) > 1]


def growths(found: Mapping[Place, float]) -> list[float]:
    """Return the factors by which the speedup grows from each place to the next."""
    values = list(found.values())
    return [after / before for before, after in pairwise(values)]


def at_the_end(found: Mapping[Place, float]) -> float:
    """Return the speedup of the last place."""
    return list(found.values())[-1]


def smallest_growth(found: Mapping[Place, float]) -> float:
    """Return the least that the speedup grows from one place to the next, as a factor."""
    return min(growths(found))


def largest_growth(found: Mapping[Place, float]) -> float:
    """Return the most that the speedup grows from one place to the next, as a factor."""
    return max(growths(found))


def best_to_steps(found: Mapping[Place, float]) -> dict[int, float]:
    """Return, for each number of fused steps, the best speedup in parts of that number."""
    best: dict[int, float] = {}
    for (_, steps, _, _), speedup in found.items():
        best[steps] = max(best.get(steps, 0.0), speedup / steps)
    return best


def largest_spread(found: Mapping[Place, float]) -> float:
    """Return the largest over the smallest speedup of places that differ in environments only; the largest of those."""
    alike: dict[tuple[int, ...], dict[int, float]] = {}
    for place, speedup in found.items():
        alike.setdefault(place[1:], {})[place[0]] = speedup
    return max(spread(over_environments) for over_environments in alike.values())


def spread(numbers: Mapping[int, float]) -> float:
    """Return the largest over the smallest."""
    return max(numbers.values()) / min(numbers.values())


def product_of_gains(measured: Throughputs) -> Estimate | None:
    """Return how far fusion and vectorisation together are from the product of both, in powers of two."""
    together, single = measured.line(kernel(FUSED_STEPS, 1, 1)), measured.line(kernel(1, 1, 1))
    common = [environments for environments in together if environments in single]
    if 1 not in common or len(common) < 2:
        return None
    most = max(common)
    groups = {"fused": together[1], "vectorised": single[most], "neither": single[1], "both": together[most]}

    def metric(means: Mapping[str, float]) -> float:
        product = means["fused"] / means["neither"] * means["vectorised"] / means["neither"]
        return abs(math.log2(product / (means["both"] / means["neither"])))

    return estimated(groups, metric, TIMINGS)


def speedup_table(measured: Throughputs) -> pd.DataFrame:
    """Return the table behind the figure of complexity: what fusion brings, a row for each place.

    Returns:
        environments, steps_per_call, state_factor, compute_factor, speedup with the ends of its 95 % interval, and
        repetitions.
    """
    rows = []
    for place in sorted(places_of(measured)):
        groups = speedup_groups(measured, [place])
        found = estimated(groups, partial(speedup_at, place), TIMINGS)
        names = ("environments", "steps_per_call", "state_factor", "compute_factor")
        row: dict[str, float] = dict(zip(names, place, strict=True))
        rows.append({**row, **found.columns("speedup"), "repetitions": found.repetitions})
    return pd.DataFrame(rows)
