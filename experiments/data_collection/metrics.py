"""This file holds the metrics of claims about data collection: ratios of throughputs, shares and counts of layers.

A metric is there only where everything that it needs was measured.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from experiments.data_collection.layers import shares
from experiments.data_collection.robots.lines import is_of_robots
from experiments.data_collection.speedups import ACCURATE, FUSED_STEPS, complexity_metrics, spread
from experiments.data_collection.throughput import CARTPOLE, COLLECT, COPY, SIMULATE, Line, Series, Throughputs, plateau
from experiments.verdicts.statistics import TIMINGS, Estimate, estimated, estimated_mean
from rlscope.model import Category, Resource

#: Published averages are over environments up to so many.
AVERAGED_TO = 2**13
#: A figure of simulators is compared up to so many.
COMPARED_TO = 2**12
#: What rigid-body simulators are called in rows begins with one of these: "Brax ant".
ROBOT_SIMULATORS = ("Brax", "MJX")

Ratios = Mapping[int, float]
#: A cell of a line: what kind of line it is, which of them, and for how many environments.
CellKey = tuple[str, int, int]


def metrics_of(measured: Throughputs, layers: pd.DataFrame, crossings: pd.DataFrame) -> dict[str, Estimate]:
    """Return everything that can be said of one machine."""
    found = {
        **best_metrics(measured),
        **steps_per_call_metrics(measured),
        **hand_written_metrics(measured),
        **complexity_metrics(measured),
        **simulator_metrics(measured),
        **layer_metrics(layers),
        **crossing_metrics(crossings),
    }
    return {name: estimate for name, estimate in found.items() if estimate is not None}


def best_metrics(measured: Throughputs) -> dict[str, Estimate | None]:
    """Return ratios of best throughputs: over environments, steps per call and variants."""

    def ratio(upper: str, lower: str) -> Estimate | None:
        return ratio_of_bests(
            [measured.line(series) for series in measured.of(COLLECT, upper)],
            [measured.line(series) for series in measured.of(COLLECT, lower)],
        )

    return {
        "xla_to_gym": ratio("XLA", "Gymnasium"),
        "pytorch_to_gym": ratio("PyTorch", "Gymnasium"),
        "xla_to_pytorch": ratio("XLA", "PyTorch"),
        "cpp_to_gym": ratio("C++ threads", "Gymnasium"),
        "xla_to_cpp": ratio("XLA", "C++ threads"),
        "cuda_to_best_xla": ratio("CUDA", "XLA"),
    }


def steps_per_call_metrics(measured: Throughputs) -> dict[str, Estimate | None]:
    """Return what more steps per call bring XLA and PyTorch."""

    def of(quantity: str, implementation: str, steps_per_call: int) -> Line:
        return measured.line(Series(quantity, implementation, steps_per_call))

    fused, single = (of(COLLECT, "XLA", steps) for steps in (FUSED_STEPS, 1))
    pytorch = of(COLLECT, "PyTorch", 1)
    simulation = [of(SIMULATE, "XLA", steps) for steps in (FUSED_STEPS, 1)]
    return {
        "xla_gain": mean_ratio(fused, single, geometric_mean),
        "xla_gain_arithmetic": mean_ratio(fused, single, arithmetic_mean),
        "xla_gain_last_to_first": mean_ratio(fused, single, last_to_first, most=None),
        "xla_fused_to_pytorch": mean_ratio(fused, pytorch, geometric_mean),
        "xla_single_to_pytorch": mean_ratio(single, pytorch, geometric_mean),
        "pytorch_gain_log2": mean_ratio(
            of(COLLECT, "PyTorch", FUSED_STEPS),
            pytorch,
            lambda ratios: abs(math.log2(geometric_mean(ratios))),
        ),
        "xla_simulation_gain": mean_ratio(simulation[0], simulation[1], geometric_mean),
    }


def hand_written_metrics(measured: Throughputs) -> dict[str, Estimate | None]:
    """Return simulation alone by hand-written code, and the fused kernel that also infers."""

    def xla(steps_per_call: int) -> Line:
        return measured.line(Series(SIMULATE, "XLA", steps_per_call))

    def cuda(steps_per_call: int) -> Line:
        return measured.line(Series(SIMULATE, "CUDA", steps_per_call, ACCURATE))

    def threads(steps_per_call: int) -> Line:
        return measured.line(Series(SIMULATE, "C++ threads", steps_per_call))

    def best_inference(variant: str) -> Estimate | None:
        lines = [measured.line(series) for series in measured.of(COLLECT, "CUDA") if series.variant == variant]
        return estimated(numbered("best", lines), largest, TIMINGS) if lines else None

    fused, single = cuda(FUSED_STEPS), cuda(1)
    fused_xla, single_xla = xla(FUSED_STEPS), xla(1)
    copied = measured.line(Series(SIMULATE, COPY))
    found = {
        "cuda_to_xla": mean_ratio(fused, fused_xla, geometric_mean),
        "cpp_to_xla": mean_ratio(threads(FUSED_STEPS), fused_xla, geometric_mean),
        "cuda_gain": mean_ratio(fused, single, geometric_mean),
        "cuda_single_to_xla_fused": mean_ratio(single, fused_xla, geometric_mean),
        "cuda_fused_to_xla_single": mean_ratio(fused, single_xla, geometric_mean),
        "cuda_fused_steps_per_s": estimated(numbered("best", [fused]), largest, TIMINGS) if fused else None,
        "cuda_inference_float32_per_s": best_inference("approximate"),
        "cuda_inference_matrix_units_per_s": best_inference("matrix units"),
    }
    if single and copied:
        groups = {"single": single[max(single)], "copy": copied[max(copied)]}
        found["cuda_single_to_copy"] = estimated(groups, lambda means: means["single"] / means["copy"], TIMINGS)
    return found


def simulator_metrics(measured: Throughputs) -> dict[str, Estimate | None]:
    """Return CartPole beside robots, on XLA."""
    robots = {
        series: line
        for series, line in measured.lines.items()
        if series.quantity == SIMULATE
        and series.simulator.partition(" ")[0] in ROBOT_SIMULATORS
        and not is_of_robots(series)
    }
    cartpole = [
        line
        for steps in {series.steps_per_call for series in robots}
        if (line := measured.line(Series(SIMULATE, "XLA", steps, simulator=CARTPOLE)))
    ]
    if not robots or not cartpole:
        return {}
    near = [{n: values for n, values in line.items() if n <= COMPARED_TO} for line in cartpole]
    near_robots = [{n: values for n, values in line.items() if n <= COMPARED_TO} for line in robots.values()]
    groups = numbered("cartpole", near) | numbered("robot", near_robots)

    def farthest(means: Mapping[CellKey, float]) -> float:
        best = max(value for (kind, _, _), value in means.items() if kind == "cartpole")
        slowest = min(
            max(value for (kind, line, _), value in means.items() if (kind, line) == ("robot", number))
            for number in range(len(robots))
        )
        return best / slowest

    whole = numbered("cartpole", cartpole) | numbered("robot", robots.values())
    return {
        "cartpole_to_slowest_robot": estimated(groups, farthest, TIMINGS),
        "cartpole_plateau_to_robots": estimated(whole, plateau_ratio, TIMINGS),
    }


def plateau_ratio(means: Mapping[CellKey, float]) -> float:
    """Return the environments with which CartPole's last plateau begins, over those of the robots'."""
    lines: dict[str, dict[int, dict[int, list[float]]]] = {"cartpole": {}, "robot": {}}
    for (kind, number, environments), mean in means.items():
        lines[kind].setdefault(number, {})[environments] = [mean]
    cartpole, robot = (max(plateau(line)[0] for line in lines[kind].values()) for kind in ("cartpole", "robot"))
    return cartpole / robot


def layer_metrics(layers: pd.DataFrame) -> dict[str, Estimate | None]:
    """Return shares of the collection with XLA, in percent."""
    if layers.empty:
        return {}
    cpu_only = shares(layers, resources=[Resource.CPU])
    on_gpu = shares(layers, resources=[Resource.GPU, Resource.BOTH])
    python = shares(layers, Category.PYTHON.label)
    return {
        "cpu_only_percent_single": estimated_mean(cpu_only[1]) if 1 in cpu_only else None,
        "gpu_percent_fused": estimated_mean(on_gpu[FUSED_STEPS]) if FUSED_STEPS in on_gpu else None,
        "cpu_only_largest_rise": largest_rise(cpu_only),
        "python_largest_rise": largest_rise(python),
    }


def crossing_metrics(crossings: pd.DataFrame) -> dict[str, Estimate | None]:
    """Return how calls, launches and kernels depend on the steps per call."""

    def counts(name: str, least_steps: int = 1) -> dict[int, list[float]]:
        rows = crossings[(crossings["steps_per_call"] >= least_steps) & (crossings[name] > 0)]
        return {int(steps): list(values) for steps, values in rows.groupby("steps_per_call")[name]}

    def estimate(groups: Mapping[int, Sequence[float]], metric: Callable[[Ratios], float]) -> Estimate | None:
        return estimated(groups, metric) if len(groups) > 1 else None

    def per_step(means: Ratios) -> Ratios:
        return {steps: count / steps for steps, count in means.items()}

    return {
        "backend_calls_spread": estimate(counts("backend"), spread),
        "launches_slope_off_one": estimate(counts("cuda"), lambda means: abs(slope(means) - 1)),
        "kernels_slope_off_one": estimate(counts("kernels"), lambda means: abs(slope(means) - 1)),
        "kernels_per_step_spread": estimate(counts("kernels", 10), lambda means: spread(per_step(means))),
        "least_kernels_per_step": estimate(counts("kernels", 10), lambda means: min(per_step(means).values())),
    }


def numbered(kind: str, lines: Iterable[Line]) -> dict[CellKey, Sequence[float]]:
    """Return the repetitions of every cell of some lines, as groups of an estimate."""
    return {
        (kind, number, environments): values
        for number, line in enumerate(lines)
        for environments, values in line.items()
    }


def largest(means: Mapping[CellKey, float]) -> float:
    """Return the best cell."""
    return max(means.values())


def ratio_of_bests(upper: Sequence[Line], lower: Sequence[Line]) -> Estimate | None:
    """Return the best throughput of some lines over that of others."""
    if not upper or not lower:
        return None

    def metric(means: Mapping[CellKey, float]) -> float:
        best = {
            side: max(value for (kind, _, _), value in means.items() if kind == side) for side in ("upper", "lower")
        }
        return best["upper"] / best["lower"]

    return estimated(numbered("upper", upper) | numbered("lower", lower), metric, TIMINGS)


def mean_ratio(
    upper: Line, lower: Line, mean: Callable[[Ratios], float], most: int | None = AVERAGED_TO
) -> Estimate | None:
    """Return a mean of the ratios of two lines, over the environments for which both were measured.

    Args:
        upper: over
        lower: this.
        mean: from the ratios, by environments, to the value.
        most: environments; None for any number.
    """
    common = [environments for environments in upper if environments in lower and environments <= (most or math.inf)]
    if not common:
        return None

    def metric(means: Mapping[CellKey, float]) -> float:
        return mean({n: means["upper", 0, n] / means["lower", 0, n] for n in common})

    groups = numbered("upper", [{n: upper[n] for n in common}]) | numbered("lower", [{n: lower[n] for n in common}])
    return estimated(groups, metric, TIMINGS)


def geometric_mean(ratios: Ratios) -> float:
    """Return the geometric mean of the ratios."""
    return math.exp(sum(map(math.log, ratios.values())) / len(ratios))


def arithmetic_mean(ratios: Ratios) -> float:
    """Return the arithmetic mean of the ratios."""
    return sum(ratios.values()) / len(ratios)


def last_to_first(ratios: Ratios) -> float:
    """Return the ratio for the most environments over that for the fewest."""
    return ratios[max(ratios)] / ratios[min(ratios)]


def slope(means: Ratios) -> float:
    """Return the slope of the line through the points, both scales logarithmic."""
    return float(np.polyfit(np.log(list(means)), np.log(list(means.values())), 1)[0])


def largest_rise(percents: Mapping[int, Sequence[float]]) -> Estimate | None:
    """Return the largest rise from one number of steps per call to the next, in percentage points."""
    if len(percents) < 2:
        return None

    def metric(means: Ratios) -> float:
        ordered = [means[steps] for steps in sorted(percents)]
        return max(after - before for before, after in pairwise(ordered))

    return estimated(percents, metric)
