"""Simulator choice: where PPO spends its time in robots, Pong and drones.

python -m experiments.simulator_choice.run --budget quick --output output/artifacts/experiment_simulator_choice
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.command_line import Outcome, command_line
from experiments.harness.case_study import CaseStudy, hardware
from experiments.harness.execute import Execution
from experiments.harness.matrix import Group, Matrix
from experiments.harness.progress import StudyRun
from experiments.simulator_choice.device_figure import device_figure
from experiments.simulator_choice.device_measurements import Measurements, load, tables_of
from experiments.simulator_choice.device_metrics import device_table, metrics_of
from experiments.verdicts.claims import Claim, Verdict, judge, load_claims
from experiments.verdicts.corrected import add_correction, caveats_of
from experiments.verdicts.deciding import deciding
from experiments.verdicts.intervals import caption_of, readable
from experiments.verdicts.kept_verdicts import with_kept
from experiments.verdicts.other_machines import origin_here, verdicts_on_machines
from experiments.verdicts.published import Published
from experiments.verdicts.results import (
    Result,
    by_workload,
    each,
    executed_of,
    gpu_percent,
    left_out_text,
    mean_table,
    over_calibration,
    python_to_simulator,
    result_of,
)
from experiments.verdicts.run_pages import add_runs
from experiments.verdicts.statistics import Estimate, estimated, estimated_mean
from experiments.verdicts.study_page import ShownFigure, StudyPage
from rlscope.model import Resource
from rlscope.plots.breakdown import breakdown_figure
from rlscope.text.numbers import in_percent

HERE = Path(__file__).parent
METHOD = (
    "Colour is the hardware at work, hatch the layer of the stack. Bars show shares of the recorded part of training, "
    "black bars the whole training of 2 million timesteps (Pong: 10 million), extrapolated from that part, on a scale "
    "of powers of two. Time between the stages counts as backpropagation, waiting as Python."
)
STAND_INS = (
    "AirLearning needs a game engine, so two others stand in for it. PyFlyt's drone sees by a camera, but its pictures "
    "are small and drawn by the CPU. The slow drone is synthetic: a point mass in a simulator that takes 50 ms a step."
)
#: The group of runs.toml whose simulators run on a GPU; of figures, what they draw then, as claims.toml names it.
DEVICE = "device"
DEVICE_CAPTION = (
    "Training on simulators that run on a GPU. From above: the loop by stage, where time in which the GPU works is "
    "that of who launched the work, and other time the CPU's; how much of it the GPU works; what one step of all 4096 "
    "environments takes, updates included; and timesteps a second of iterations that are not recorded, beside "
    "published rates. One call: a compiled function, or a kernel, that does the work of several stages, which nobody "
    "can divide."
)
#: What claims ask of a figure, of a simulator with an environment in Python, and of one in AirLearning's place.
METRICS = {
    "figure": (
        "smallest_simulation_share",
        "smallest_is_single_or_cheapest",
        "largest_gpu_only_share",
        "largest_gpu_share",
    ),
    "wrapped": ("simulation_share", "python_to_simulator", "cuda_to_other_categories"),
    "native": ("simulation_share", "simulator_share_of_simulation", "python_to_native_simulator"),
}
#: Simulators of which there is a single environment.
SINGLE = ("HalfCheetahBulletEnv-v0", "HalfCheetah-v5")
#: A figure with fewer simulators is no survey.
SIMULATORS_OF_A_SURVEY = 4


def run(study: CaseStudy) -> Outcome:
    """Record, draw and judge."""
    executed, failures = executed_of(study)
    on_device = [one for one in executed if one[0].workload.group == DEVICE]
    results = [result_of(*one) for one in executed if one not in on_device]
    missing = [*study.left_out, *failures]

    page = StudyPage("Case study: simulator choice", study.output, METHOD, STAND_INS, *missing)
    add_correction(page, results)
    for group in study.groups:
        if group.name != DEVICE:
            draw(study, page, group, shown_in(group, study.matrix, results))

    claims = load_claims(HERE / "claims.toml")
    judged = [
        verdict
        for kind, measured in measurements(study.matrix, results).items()
        for verdict in judge(
            [claim for claim in claims if claim.metric in METRICS[kind]],
            measured,
            hardware(),
            study.is_provisional,
            bool(missing),
            caveats_of(results),
        )
    ]
    about_device = [claim for claim in claims if claim.figure == DEVICE]
    on_devices = verdicts_on_devices(study, page, about_device, on_device)
    verdicts = deciding([*with_kept(judged, study.folder), *on_devices], study)
    add_runs(page, [(study_run.workload, execution.trace) for study_run, execution in executed])
    page.claims(verdicts, study.names)
    page.write(study.output / "index.html")
    return Outcome(verdicts, missing, [execution for _, execution in executed], page.figures)


def verdicts_on_devices(
    study: CaseStudy, page: StudyPage, claims: Sequence[Claim], executed: Sequence[tuple[StudyRun, Execution]]
) -> list[Verdict]:
    """Draw and judge simulators on a GPU: this machine's, if it has one, and those whose measurements are kept."""
    origin = origin_here(study, [execution for _, execution in executed])
    here = Measurements(**origin, tables=tables_of(executed))
    return verdicts_on_machines(
        study, page, claims, here, load, draw_device, lambda measured: metrics_of(measured.tables)
    )


def draw_device(study: CaseStudy, page: StudyPage, title: str, suffix: str, results: Measurements) -> None:
    """Draw a machine's figure of simulators on a GPU, and the numbers in it."""
    page.heading(f"Simulators on a GPU: {title}")
    if results.tables.counts.empty:
        page.paragraph("Nothing was measured here: that takes a GPU, and the packages of the simulators.")
        return
    page.paragraph(results.source)
    table = device_table(results.tables)
    labels = {entry.name: entry.label for entry in study.matrix.entries}
    name = f"fig_simulator_gpu{suffix}"
    study.save_figure(name, device_figure(table, labels), table)
    page.show(ShownFigure(name, caption_of(DEVICE_CAPTION, table), (title,), DEVICE))
    page.numbers(f"Simulators on a GPU: {title}", readable(table))


def shown_in(group: Group, matrix: Matrix, results: Sequence[Result]) -> list[Result]:
    """Return what a figure shows, in the order of runs.toml: simulators recorded for it, and some of other figures."""
    order = [entry.name for entry in matrix.entries]
    chosen = [
        result for result in results if result.workload.group == group.name or result.workload.name in group.shows
    ]
    return sorted(chosen, key=lambda result: order.index(result.workload.name))


def draw(study: CaseStudy, page: StudyPage, group: Group, results: Sequence[Result]) -> None:
    """Draw a figure with its numbers, if any of its simulators could be recorded."""
    if not results:
        return
    table = mean_table(results)
    labels = {result.workload.name: result.workload.label for result in results}
    published = Published(HERE)
    outlines = published.outlines(group.figure)
    figure = breakdown_figure(table, "percent", labels, "Simulator", log_totals=True, outlines=outlines)
    study.save_figure(group.figure, figure, table)
    page.heading(published.heading(group.figure, group.title))
    page.show(ShownFigure(group.figure, published.caption(group.figure, group.caption), (group.name, *labels)))
    page.paragraphs(left_out_text(results, "training"))
    shares = table[table["stage"] == "simulation"].groupby("workload")["percent"].sum()
    page.paragraph(f"Simulation has its smallest share in {shares.idxmin()}: {in_percent(shares.min())} %.")
    page.numbers(f"Published and measured, {group.title}", published.beside(group.figure, table, "percent"))
    page.numbers(f"Shares of training, {group.title}", readable(table))


def measurements(matrix: Matrix, results: Sequence[Result]) -> dict[str, dict[str, dict[str, Estimate]]]:
    """Return the metrics of claims.toml of every figure and simulator, by kind; none of those that could not be
    recorded.
    """
    found = {workload.name: runs for workload, runs in by_workload(results).items()}
    measured: dict[str, dict[str, dict[str, Estimate]]] = {"figure": {}, "wrapped": {}, "native": {}}
    timesteps = {entry.name: entry.total_timesteps or matrix.total_timesteps for entry in matrix.entries}
    for group in matrix.groups:
        if group.name != DEVICE:
            measured["figure"][group.name] = of_a_figure(shown_in(group, matrix, results), timesteps)
    for entry in matrix.entries:
        if entry.kind != DEVICE:
            runs = found.get(entry.name, [])
            measured[entry.kind][entry.name] = of_a_simulator(runs, entry.kind) if runs else {}
    return measured


def of_a_figure(results: Sequence[Result], timesteps: Mapping[str, int]) -> dict[str, Estimate]:
    """Return the metrics over all simulators of a figure, if they are enough.

    Args:
        results: of the figure.
        timesteps: of the whole training, by simulator.
    """
    repetitions = {workload.name: runs for workload, runs in by_workload(results).items()}
    if len(repetitions) < SIMULATORS_OF_A_SURVEY:
        return {}
    simulation = each(repetitions, lambda result: result.percent("simulation"))
    gpu_only = each(repetitions, lambda result: result.percent_on(Resource.GPU))
    return {
        "smallest_simulation_share": estimated(simulation, lambda shares: min(shares.values())),
        "smallest_is_single_or_cheapest": smallest_is_single_or_cheapest(repetitions, timesteps),
        "largest_gpu_only_share": estimated(gpu_only, lambda shares: max(shares.values())),
        "largest_gpu_share": estimated(each(repetitions, gpu_percent), lambda shares: max(shares.values())),
    }


def smallest_is_single_or_cheapest(
    repetitions: Mapping[str, Sequence[Result]], timesteps: Mapping[str, int]
) -> Estimate:
    """Return the smallest share of simulation of a single environment or the cheapest simulator, less that of the
    others.
    """
    groups: dict[tuple[str, str], list[float]] = {}
    for name, runs in repetitions.items():
        groups[name, "share"] = [result.percent("simulation") for result in runs]
        groups[name, "cost"] = [result.stage_seconds("simulation") / timesteps[name] for result in runs]

    def difference(means: Mapping[tuple[str, str], float]) -> float:
        cheapest = min(repetitions, key=lambda name: means[name, "cost"])
        expected, others = (
            [means[name, "share"] for name in repetitions if (name in (*SINGLE, cheapest)) is is_expected]
            for is_expected in (True, False)
        )
        return min(expected) - min(others)

    return estimated(groups, difference)


def of_a_simulator(results: Sequence[Result], kind: str) -> dict[str, Estimate]:
    """Return the metrics of one simulator."""
    share = estimated_mean([result.percent("simulation") for result in results])
    ratio = estimated_mean([python_to_simulator(result) for result in results])
    if kind == "wrapped":
        cuda = over_calibration(
            lambda end: estimated_mean([cuda_to_other_categories(result, end) for result in results])
        )
        return {"simulation_share": share, "python_to_simulator": ratio, "cuda_to_other_categories": cuda}
    return {
        "simulation_share": share,
        "simulator_share_of_simulation": estimated_mean([simulator_percent(result) for result in results]),
        "python_to_native_simulator": ratio,
    }


def simulator_percent(result: Result) -> float:
    """Time in the simulator over time in simulation."""
    return 100 * result.seconds("simulation", "simulator") / result.stage_seconds("simulation")


def cuda_to_other_categories(result: Result, end: str) -> float:
    """Return seconds in CUDA over those in the larger of backend and Python, of backpropagation while no GPU works.

    Args:
        result: of a run.
        end: one of ENDS: all time in CUDA calls is longer or shorter by the same share, if recording adds less or more.
    """
    table = result.table
    rows = table[(table["stage"] == "backpropagation") & (table["resource"] == Resource.CPU.value)]
    seconds = rows.groupby("category")["seconds"].sum()
    part = getattr(result.cuda_s, end) / result.cuda_s.seconds if result.cuda_s.seconds > 0 else 1.0
    return float(part * seconds.get("cuda", 0.0) / seconds.drop("cuda", errors="ignore").max())


if __name__ == "__main__":
    sys.exit(command_line(__doc__, HERE, run))
