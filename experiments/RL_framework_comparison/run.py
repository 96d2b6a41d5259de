"""Framework comparison: TD3 and DDPG in PyTorch, TensorFlow and JAX, from eager to compiled.

python -m experiments.RL_framework_comparison.run --budget quick --output DIRECTORY
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean

from scipy import stats

from experiments.command_line import Outcome, command_line
from experiments.harness.case_study import CaseStudy, hardware
from experiments.harness.matrix import load_matrix
from experiments.RL_framework_comparison.measurements import Measurements, load
from experiments.verdicts.claims import add_claims, judge, load_claims
from experiments.verdicts.corrected import add_correction, uncorrected_of
from experiments.verdicts.intervals import caption_of, readable
from experiments.verdicts.kept_verdicts import MEASURED, with_kept
from experiments.verdicts.other_machines import kept_results
from experiments.verdicts.results import (
    Result,
    add_advice,
    by_workload,
    cuda_to_gpu,
    gpu_percent,
    mean_table,
    mean_transitions,
    over_calibration,
    results_of,
)
from experiments.verdicts.statistics import Estimate, estimated
from rlscope.plots.breakdown import RECORDED_TIME, breakdown_figure
from rlscope.plots.page import Page
from rlscope.plots.transitions import transitions_figure

HERE = Path(__file__).parent
#: What was measured on machines with a GPU, for those without: `scripts/gpu_suite.sh OUTPUT frameworks` makes it.
KEPT = HERE / MEASURED
METHOD = (
    "Colour is the hardware at work, hatch the layer of the stack. Black bars are the whole training of 2 million "
    "timesteps, at the speed of iterations that were not recorded; the bars below share it out as the recorded "
    "iterations were. Time between the stages counts as backpropagation, waiting as Python."
)
TITLE = "Framework and execution model"
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


def run(study: CaseStudy) -> Outcome:
    """Record, draw and judge."""
    results, executions, failures = results_of(study)
    missing = [*study.left_out, *failures]

    page = Page("Case study: RL framework comparison")
    page.paragraph(METHOD)
    for sentence in missing:
        page.paragraph(sentence)
    add_correction(page, results)
    measured = {}
    for group in study.groups:
        chosen = [result for result in results if result.workload.group == group.name]
        draw(study, page, group.figure, f"{group.name} on {group.id}", chosen)
        measured[group.name] = measurements(chosen) | (gpu_measurements(chosen) if hardware() == "gpu" else {})

    claims = load_claims(HERE / "claims.toml")
    judged = judge(claims, measured, hardware(), study.is_provisional, bool(missing), uncorrected_of(results))
    add_advice(page, results)
    of_others = []
    for name, others in kept_frameworks().items():
        draw_kept(study, page, name, others)
        of_others += others.verdicts_on(claims, gpu_measurements(others.results))
    verdicts = with_kept(judged, study.folder, of_others)
    page.heading("Claims")
    add_claims(page, verdicts)
    page.write(study.output / "index.html")
    return Outcome(verdicts, missing, executions)


def kept_frameworks() -> dict[str, Measurements]:
    """Return the results of machines with a GPU, by the name of the folder that each has in KEPT."""
    entries = load_matrix(HERE / "runs.toml").entries
    return kept_results(KEPT, lambda directory: load(directory, entries))


def draw_kept(study: CaseStudy, page: Page, name: str, others: Measurements) -> None:
    """Show what another machine has recorded: a figure, and the numbers that claims are about."""
    page.heading(f"TD3 on {others.device_name}")
    page.paragraph(others.source)
    add_correction(page, others.results)
    table = mean_table(others.results)
    labels = {result.workload.name: result.workload.label for result in others.results}
    figure = f"fig_td3_time_breakdown_{name}"
    study.save_figure(figure, breakdown_figure(table, "seconds", labels, TITLE, RECORDED_TIME), table)
    page.figure(figure, caption_of(f"TD3 on {others.device_name}: recorded training, without compiling.", table))
    page.table(readable(table))
    page.table(readable(others.table()))


def draw(study: CaseStudy, page: Page, figure: str, title: str, results: Sequence[Result]) -> None:
    """Draw the two figures of an algorithm, and the numbers of what is in no figure."""
    page.heading(title)
    shown = [result for result in results if result.workload.kind != "extra"]
    extra = [result for result in results if result.workload.kind == "extra"]
    labels = {result.workload.name: result.workload.label for result in results}
    if shown:
        table = mean_table(shown)
        study.save_figure(f"{figure}_time_breakdown", breakdown_figure(table, "seconds", labels, TITLE), table)
        page.figure(f"{figure}_time_breakdown", f"{title}: time of the whole training")
        page.table(readable(table))
        table = mean_transitions(shown)
        study.save_figure(f"{figure}_transitions", transitions_figure(table, "per_iteration", labels, TITLE), table)
        page.figure(f"{figure}_transitions", f"{title}: entries into the backend, CUDA and the simulator")
        page.table(readable(table))
    left_out_s = sum(result.left_out_s for result in results) / max(len(results), 1)
    page.paragraph(f"Recorded outside the three stages and left out: {left_out_s:.2g} s of an average run.")
    if extra:
        page.paragraph("For single claims, in no figure:")
        page.table(readable(mean_table(extra)))
        page.table(readable(mean_transitions(extra)))


def measurements(results: Sequence[Result]) -> dict[str, Estimate]:
    """Return the metrics of claims.toml for one algorithm, as far as their workloads have run."""
    repetitions = {workload.name: runs for workload, runs in by_workload(results).items()}
    shown = [workload.name for workload in by_workload(results) if workload.kind != "extra"]
    graph, autograph = "tensorflow_graph", "tensorflow_autograph"
    metrics: dict[str, tuple[Sequence[str], Callable[[Result], Numbers], Callable[[WorkloadNumbers], float]]] = {
        "eager_to_compiled": (
            sorted({name for pair in PAIRS for name in pair}),
            training,
            lambda found: min(
                found[eager, TRAINING, "time"] / found[compiled, TRAINING, "time"] for eager, compiled in PAIRS
            ),
        ),
        "calls_to_time_correlation": (
            shown,
            training,
            lambda found: float(
                stats.spearmanr(
                    [found[name, TRAINING, "calls"] for name in shown],
                    [found[name, TRAINING, "time"] for name in shown],
                )[0]
            ),
        ),
        "tensorflow_to_pytorch_eager": (
            ("pytorch_eager", "tensorflow_eager"),
            training,
            lambda found: min(
                found["tensorflow_eager", TRAINING, quantity] / found["pytorch_eager", TRAINING, quantity]
                for quantity in ("time", "calls")
            ),
        ),
        "python_share_graph_to_autograph": (
            (graph, autograph),
            stages,
            lambda found: min(
                found[graph, stage, "python"] / found[autograph, stage, "python"]
                for stage in ("inference", "backpropagation")
            ),
        ),
        "host_adam_time": (
            ("host_adam", "pytorch_eager"),
            stages,
            lambda found: (
                found["host_adam", "backpropagation", "time"] / found["pytorch_eager", "backpropagation", "time"]
            ),
        ),
        "host_adam_calls": (
            ("host_adam", "pytorch_eager"),
            stages,
            lambda found: (
                found["host_adam", "backpropagation", "calls"] / found["pytorch_eager", "backpropagation", "calls"]
            ),
        ),
        "graph_to_autograph_backpropagation": (
            (graph, autograph),
            stages,
            lambda found: found[graph, "backpropagation", "time"] / found[autograph, "backpropagation", "time"],
        ),
        "graph_to_autograph": (
            (graph, autograph),
            training,
            lambda found: found[graph, TRAINING, "time"] / found[autograph, TRAINING, "time"],
        ),
        "pytorch_eager_to_tensorflow_compiled": (
            ("pytorch_eager", graph, autograph),
            training,
            lambda found: (
                found["pytorch_eager", TRAINING, "time"]
                / min(found[graph, TRAINING, "time"], found[autograph, TRAINING, "time"])
            ),
        ),
        "inference_backend_autograph_to_graph": (
            (graph, autograph),
            stages,
            lambda found: found[autograph, "inference", "backend"] / found[graph, "inference", "backend"],
        ),
        "callbacks_100_minus_1000": (
            ("callbacks_100", "callbacks_1000", "jax_jit"),
            stages,
            lambda found: (
                (
                    found["callbacks_100", "simulation", "python time"]
                    - found["callbacks_1000", "simulation", "python time"]
                )
                / found["jax_jit", "simulation", "python time"]
            ),
        ),
    }
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

    def ratio(end: str) -> Callable[[Result], float]:
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
        "mean_cuda_to_gpu": over_calibration(lambda end: of(everything, ratio(end), geometric_mean)),
    }
    if eager:
        found["smallest_cuda_to_gpu"] = over_calibration(lambda end: of(eager, ratio(end), min))
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
        found[stage, "python"] = result.seconds(stage, "python") / seconds
        found[stage, "backend"] = result.seconds(stage, "backend")
        found[stage, "calls"] = result.entries(stage, "backend")
    return found


if __name__ == "__main__":
    sys.exit(command_line(__doc__, HERE, run))
