"""This file holds the metrics of claims.toml: how times and calls of one workload compare with those of another."""

from collections.abc import Callable, Mapping, Sequence
from statistics import geometric_mean

from scipy import stats

from experiments.verdicts.results import Result, by_workload, cuda_to_gpu, gpu_percent, over_calibration
from experiments.verdicts.statistics import Estimate, estimated

PAIRS = (
    ("pytorch_eager", "pytorch_compiled"),
    ("tensorflow_eager", "tensorflow_graph"),
    ("tensorflow_eager", "tensorflow_autograph"),
)

#: The key of what is the whole training's, among the names of stages.
TRAINING = "training"

Repetitions = Mapping[str, Sequence[Result]]
#: Numbers of one result, by stage and quantity: `("inference", "calls")`.
Numbers = Mapping[tuple[str, str], float]
#: The same of several workloads, by the name of the workload too.
WorkloadNumbers = Mapping[tuple[str, str, str], float]


def training(result: Result) -> Numbers:
    """Return seconds of the whole training, and calls into the backend per timestep."""
    calls = result.entries("inference", "backend") + result.entries("backpropagation", "backend")
    return {(TRAINING, "time"): result.training_s, (TRAINING, "calls"): calls}


def stages(result: Result) -> Numbers:
    """Return of each stage: seconds, those in Python and in the backend, share of Python, and backend calls."""
    found: dict[tuple[str, str], float] = {}
    for stage in ("inference", "backpropagation", "simulation"):
        seconds = result.stage_seconds(stage)
        found[stage, "time"] = seconds
        found[stage, "python time"] = result.seconds(stage, "python")
        found[stage, "python"] = result.seconds(stage, "python") / seconds if seconds else 0.0
        found[stage, "backend"] = result.seconds(stage, "backend")
        found[stage, "calls"] = result.entries(stage, "backend")
    return found


def ratio(above: str, below: str, stage: str, quantity: str) -> Callable[[WorkloadNumbers], float]:
    """Return how a quantity of one workload over that of another is computed."""
    return lambda found: found[above, stage, quantity] / found[below, stage, quantity]


def smallest(*values: Callable[[WorkloadNumbers], float]) -> Callable[[WorkloadNumbers], float]:
    """Return how the smallest of some values is computed."""
    return lambda found: min(value(found) for value in values)


GRAPH, AUTOGRAPH = "tensorflow_graph", "tensorflow_autograph"
#: Of each metric of claims.toml the workloads that it takes, the numbers of one run, and how it follows from them.
METRICS: dict[str, tuple[Sequence[str], Callable[[Result], Numbers], Callable[[WorkloadNumbers], float]]] = {
    "eager_to_compiled": (
        sorted({name for pair in PAIRS for name in pair}),
        training,
        smallest(*(ratio(eager, compiled, TRAINING, "time") for eager, compiled in PAIRS)),
    ),
    "tensorflow_to_pytorch_eager": (
        ("pytorch_eager", "tensorflow_eager"),
        training,
        smallest(*(ratio("tensorflow_eager", "pytorch_eager", TRAINING, quantity) for quantity in ("time", "calls"))),
    ),
    "python_share_graph_to_autograph": (
        (GRAPH, AUTOGRAPH),
        stages,
        smallest(*(ratio(GRAPH, AUTOGRAPH, stage, "python") for stage in ("inference", "backpropagation"))),
    ),
    "host_adam_time": (
        ("host_adam", "pytorch_eager"),
        stages,
        ratio("host_adam", "pytorch_eager", "backpropagation", "time"),
    ),
    "host_adam_calls": (
        ("host_adam", "pytorch_eager"),
        stages,
        ratio("host_adam", "pytorch_eager", "backpropagation", "calls"),
    ),
    "graph_to_autograph_backpropagation": (
        (GRAPH, AUTOGRAPH),
        stages,
        ratio(GRAPH, AUTOGRAPH, "backpropagation", "time"),
    ),
    "graph_to_autograph": ((GRAPH, AUTOGRAPH), training, ratio(GRAPH, AUTOGRAPH, TRAINING, "time")),
    "pytorch_eager_to_tensorflow_compiled": (
        ("pytorch_eager", GRAPH, AUTOGRAPH),
        training,
        lambda found: (
            found["pytorch_eager", TRAINING, "time"]
            / min(found[GRAPH, TRAINING, "time"], found[AUTOGRAPH, TRAINING, "time"])
        ),
    ),
    "inference_backend_autograph_to_graph": (
        (GRAPH, AUTOGRAPH),
        stages,
        ratio(AUTOGRAPH, GRAPH, "inference", "backend"),
    ),
    "callbacks_100_minus_1000": (
        ("callbacks_100", "callbacks_1000", "jax_jit"),
        stages,
        lambda found: (
            (found["callbacks_100", "simulation", "python time"] - found["callbacks_1000", "simulation", "python time"])
            / found["jax_jit", "simulation", "python time"]
        ),
    ),
}


def measurements(results: Sequence[Result]) -> dict[str, Estimate]:
    """Return the metrics of claims.toml for one algorithm, as far as their workloads have run."""
    repetitions = {workload.name: runs for workload, runs in by_workload(results).items()}
    shown = [workload.name for workload in by_workload(results) if workload.kind != "extra"]

    def correlation(found: WorkloadNumbers) -> float:
        calls, seconds = ([found[name, TRAINING, of] for name in shown] for of in ("calls", "time"))
        return float(stats.spearmanr(calls, seconds)[0])

    metrics = METRICS | {"calls_to_time_correlation": (shown, training, correlation)}
    return {
        metric: estimate(repetitions, names, numbers, value)
        for metric, (names, numbers, value) in metrics.items()
        if len(names) > 1 and set(names) <= set(repetitions)
    }


def gpu_measurements(results: Sequence[Result]) -> dict[str, Estimate]:
    """Return the metrics of claims.toml that exist for runs on a GPU, as far as their workloads have run."""
    groups = {workload: runs for workload, runs in by_workload(results).items() if workload.kind != "extra"}
    repetitions = {workload.name: runs for workload, runs in groups.items()}
    eager = [workload.name for workload in groups if workload.kind == "eager"]

    def of(names: Sequence[str], number: Callable[[Result], float], value: Callable[[list[float]], float]) -> Estimate:
        return estimate(
            repetitions,
            names,
            lambda result: {(TRAINING, "number"): number(result)},
            lambda found: value(list(found.values())),
        )

    def cuda_over_gpu(end: str) -> Callable[[Result], float]:
        return lambda result: cuda_to_gpu(result, end)

    everything = list(repetitions)
    if not everything:
        return {}
    found = {
        "largest_gpu_share": of(everything, gpu_percent, max),
        "training_time_spread": of(everything, lambda result: result.training_s, lambda found: max(found) / min(found)),
        "gpu_time_spread": of(
            everything, lambda result: result.gpu_s / result.timesteps, lambda found: max(found) / min(found)
        ),
        "mean_cuda_to_gpu": over_calibration(lambda end: of(everything, cuda_over_gpu(end), geometric_mean)),
    }
    if eager:
        found["smallest_cuda_to_gpu"] = over_calibration(lambda end: of(eager, cuda_over_gpu(end), min))
    return found


def estimate(
    repetitions: Repetitions,
    names: Sequence[str],
    numbers: Callable[[Result], Numbers],
    value: Callable[[WorkloadNumbers], float],
) -> Estimate:
    """Estimate a value that is made of several numbers of several workloads."""
    groups: dict[tuple[str, str, str], list[float]] = {}
    for name in names:
        for result in repetitions[name]:
            for (stage, quantity), found in numbers(result).items():
                groups.setdefault((name, stage, quantity), []).append(found)
    return estimated(groups, value)
