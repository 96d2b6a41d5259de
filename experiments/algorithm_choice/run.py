"""Algorithm choice: where DDPG, SAC, A2C and PPO spend their time on a walking robot.

python -m experiments.algorithm_choice.run --budget quick --output output/artifacts/experiment_algorithm_choice
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean

from experiments.command_line import Outcome, command_line
from experiments.harness.case_study import CaseStudy, hardware
from experiments.verdicts.claims import judge, load_claims
from experiments.verdicts.corrected import add_correction, caveats_of
from experiments.verdicts.deciding import deciding
from experiments.verdicts.intervals import readable
from experiments.verdicts.kept_verdicts import with_kept
from experiments.verdicts.published import Published
from experiments.verdicts.results import (
    ON_GPU,
    Result,
    by_workload,
    cuda_to_gpu,
    each,
    left_out_text,
    mean_table,
    over_calibration,
    python_to_simulator,
    results_of,
)
from experiments.verdicts.run_pages import add_runs
from experiments.verdicts.statistics import Estimate, estimated, estimated_mean
from experiments.verdicts.study_page import ShownFigure, StudyPage
from rlscope.model import Resource
from rlscope.plots.breakdown import breakdown_figure

HERE = Path(__file__).parent
METHOD = (
    "Colour is the hardware at work, hatch the layer of the stack. Bars show shares of the recorded part of training, "
    "black bars the whole training of 2 million timesteps, extrapolated from that part. Time between the stages counts "
    "as backpropagation, waiting as Python."
)


def run(study: CaseStudy) -> Outcome:
    """Record, draw and judge."""
    results, executions, failures = results_of(study)

    page = StudyPage("Case study: algorithm choice", study.output, METHOD, *study.left_out, *failures)
    add_correction(page, results)
    published, measured = Published(HERE), {}
    for group in study.groups:
        chosen = [result for result in results if result.workload.group == group.name]
        if not chosen:
            continue
        table = mean_table(chosen)
        labels = {result.workload.name: result.workload.label for result in chosen}
        outlines = published.outlines(group.figure)
        figure = breakdown_figure(table, "percent", labels, "RL algorithm", outlines=outlines)
        study.save_figure(group.figure, figure, table)
        measured[group.name] = measurements(chosen) | (gpu_measurements(chosen) if hardware() == "gpu" else {})
        page.heading(published.heading(group.figure, group.name))
        page.show(ShownFigure(group.figure, published.caption(group.figure, group.caption), (group.name,)))
        page.paragraphs(left_out_text(chosen, "training"))
        page.numbers(f"Published and measured, {group.name}", published.beside(group.figure, table, "percent"))
        page.numbers(f"Shares of training, {group.name}", readable(table))

    claims = load_claims(HERE / "claims.toml")
    judged = judge(claims, measured, hardware(), study.is_provisional, bool(failures), caveats_of(results))
    verdicts = deciding(with_kept(judged, study.folder), study)
    add_runs(page, zip((result.workload for result in results), (run.trace for run in executions), strict=True))
    page.claims(verdicts)
    page.write(study.output / "index.html")
    return Outcome(verdicts, failures, executions, page.figures)


def measurements(results: Sequence[Result]) -> dict[str, Estimate]:
    """Return the metrics of claims.toml for one group."""
    repetitions = {workload.name: runs for workload, runs in by_workload(results).items()}
    on_policy = [result.workload.name for result in results if result.workload.kind == "on-policy"]
    simulation = each(repetitions, lambda result: result.percent("simulation"))
    ratio = each(repetitions, python_to_simulator)

    def smallest_on(shares: Mapping[str, float]) -> float:
        return min(share for name, share in shares.items() if name in on_policy)

    def largest_off(shares: Mapping[str, float]) -> float:
        return max(share for name, share in shares.items() if name not in on_policy)

    found = {
        "python_to_simulator": estimated(ratio, smallest),
        "smallest_python_and_backend_share": estimated(each(repetitions, python_and_backend_percent), smallest),
        "fewest_layers": estimated(each(repetitions, layers), smallest),
    }
    if "SAC" in repetitions:
        entries = [result.entries("backpropagation", "backend") for result in repetitions["SAC"]]
        found["sac_backend_entries_per_timestep"] = estimated_mean(entries)
    if 0 < len(set(on_policy)) < len(repetitions):  # else all workloads of a kind have failed
        found["on_to_off_policy_simulation"] = estimated(
            simulation, lambda shares: smallest_on(shares) / largest_off(shares)
        )
        found["on_minus_off_policy_simulation"] = estimated(
            simulation, lambda shares: smallest_on(shares) - largest_off(shares)
        )
    return found


def gpu_measurements(results: Sequence[Result]) -> dict[str, Estimate]:
    """Return the metrics of claims.toml that exist for runs on a GPU."""
    repetitions = {workload.name: runs for workload, runs in by_workload(results).items()}

    def largest(values: Mapping[str, float]) -> float:
        return max(values.values())

    def ratios(end: str) -> dict[str, list[float]]:
        return each(repetitions, lambda result: cuda_to_gpu(result, end))

    return {
        "largest_gpu_share_of_an_operation": estimated(each(repetitions, largest_gpu_percent), largest),
        "smallest_cpu_only_share": estimated(
            each(repetitions, lambda result: result.percent_on(Resource.CPU)), smallest
        ),
        "smallest_cuda_to_gpu": over_calibration(lambda end: estimated(ratios(end), smallest)),
        "mean_cuda_to_gpu": over_calibration(
            lambda end: estimated(ratios(end), lambda found: geometric_mean(list(found.values())))
        ),
    }


def smallest(values: Mapping[str, float]) -> float:
    """Return the value of the algorithm that has the smallest."""
    return min(values.values())


def python_and_backend_percent(result: Result) -> float:
    """Time of the CPU alone in Python or the backend over time, of inference and backpropagation together."""
    rows = result.table[result.table["stage"].isin(["inference", "backpropagation"])]
    is_cpu = (rows["resource"] == Resource.CPU.value) & rows["category"].isin(["python", "backend"])
    return float(100 * rows.loc[is_cpu, "seconds"].sum() / rows["seconds"].sum())


def layers(result: Result) -> float:
    """Return how many layers of the stack have time in the stages of one trace: of Python, simulator, backend,
    CUDA, GPU.
    """
    found = set(result.table["category"]) & {"python", "simulator", "backend", "cuda"}
    return float(len(found) + result.table["resource"].isin(ON_GPU).any())


def largest_gpu_percent(result: Result) -> float:
    """Time with the GPU busy over the operation's time: the larger of inference and backpropagation."""
    shares = []
    for stage in ("inference", "backpropagation"):
        rows = result.table[result.table["stage"] == stage]
        on_gpu = rows["resource"].isin(ON_GPU)
        shares.append(float(100 * rows.loc[on_gpu, "seconds"].sum() / rows["seconds"].sum()))
    return max(shares)


if __name__ == "__main__":
    sys.exit(command_line(__doc__, HERE, run))
