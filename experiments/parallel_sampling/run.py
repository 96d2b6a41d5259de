"""Parallel sampling: what waiting for the slowest environment costs, by a model and measured.

python -m experiments.parallel_sampling.run --budget quick --output output/artifacts/experiment_parallel_sampling
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.command_line import Outcome, command_line
from experiments.harness.case_study import CaseStudy, hardware
from experiments.parallel_sampling.diagnostic import parts_table
from experiments.parallel_sampling.figures import sampling_diagnostic_figure, train_time_figure
from experiments.parallel_sampling.lock_step import PRESETS
from experiments.parallel_sampling.measurements import TIMED, Sampled, sampled_runs
from experiments.parallel_sampling.metrics import comparison_table, measured_hours, metrics_of
from experiments.parallel_sampling.model import (
    SOURCES,
    common_metrics,
    grids_table,
    model_hours,
    preset_metrics,
    published_hours,
)
from experiments.parallel_sampling.step_grids import step_grids_figure
from experiments.verdicts.claims import Verdict, judge, load_claims
from experiments.verdicts.corrected import Caveats, add_correction, analyzed, caveats_of
from experiments.verdicts.deciding import deciding
from experiments.verdicts.intervals import caption_of, readable
from experiments.verdicts.results import executed_of
from experiments.verdicts.run_pages import add_runs
from experiments.verdicts.statistics import Estimate
from experiments.verdicts.study_page import ShownFigure, StudyPage

HERE = Path(__file__).parent
#: The subjects of claims: the model, by its presets where these matter, and what was measured.
MODEL, MEASURED = "Model", "Measured"
METHOD = (
    "Environments that are stepped together wait for the slowest of them in each step (lock-step, called vectorised); "
    "workers that run free wait once in a rollout (batched: one environment in each; hybrid: a few). The model draws "
    "when episodes end, and adds up. Timed environments sleep for a step and for a reset, so that there can be more of "
    "them than cores. All samplers meet the same ends of episodes; the model is given those very ends, the measured "
    "time of inference, and nothing else of the measurement. Times of iterations are by the samplers' own stopwatches, "
    "which include what recording adds."
)
HOURS = (
    "Hours of training to 20 million samples, by 24 environments whose step takes 3 ms and whose reset takes 100 ms. "
    "The talk does not say how often episodes end: one preset has its 24 ms for a vector step, the other its 150 s for "
    "the sampling of an iteration. Measured: seconds of a vector step and of inference, for rollouts as long as the "
    "talk's."
)
LEFT_OUT = (
    "What the slides leave out. (1) 16 times the processors shorten sampling alone: with the update of 13 s after it, "
    "an iteration is 2.6 times as fast, not 6; with the update during sampling 3 times, for then there is nothing but "
    "the update. Six times takes an update of at most 5.5 s, or fewer. (2) 150 s of sampling are 26 s more than 5000 "
    "steps of 24.8 ms. (3) 20 s of batched sampling are 5000 times 3 + 1 ms: resets are not in it."
)
PARTS = (
    "A vector step as RL-Scope recorded it: an environment's own steps and resets, the mean of all environments; "
    "inference; waiting, for the slowest environment in each step and for the slowest worker at the end; and the rest: "
    "messages between processes, no core to run on, and what recording added where it is "
    "subtracted from the others. Timed and real environments have times of their own."
)


def run(study: CaseStudy) -> Outcome:
    """Record, draw and judge."""
    executed, failures = executed_of(study)
    missing = [*study.left_out, *failures]
    sampled = sampled_runs(executed)
    analyses = [analyzed(execution.trace) for _, execution in executed]
    parts = parts_table(
        [(run, analysis.breakdown.table) for run, analysis in zip(sampled, analyses, strict=True) if run.is_whole]
    )
    page = StudyPage("Case study: parallel sampling", study.output, METHOD, *missing)
    add_correction(page, analyses)
    for sentence in losses(sampled):
        page.warning(sentence)
    draw(study, page, sampled, parts)
    add_runs(page, [(study_run.workload, execution.trace) for study_run, execution in executed])
    verdicts = deciding(judged(metrics_of(sampled, parts), study.is_provisional, caveats_of(analyses)), study)
    page.claims(verdicts)
    page.write(study.output / "index.html")
    return Outcome(verdicts, missing, [execution for _, execution in executed], page.figures)


def draw(study: CaseStudy, page: StudyPage, sampled: Sequence[Sampled], parts: pd.DataFrame) -> None:
    """Draw the figures, each with what there is to know about it."""
    page.heading("How long training takes")
    hours = pd.concat([model_hours(), measured_hours(sampled)], ignore_index=True)
    study.save_figure("fig_train_time", train_time_figure(hours, published_hours()), hours)
    caption = caption_of("Hours of training by sampler, with the published range.", hours)
    page.show(ShownFigure("fig_train_time", caption, kind="fig_train_time"))
    page.paragraph(HOURS)
    page.paragraph(LEFT_OUT)
    page.heading("Why")
    grids = grids_table()
    study.save_figure("fig_lock_step_grids", step_grids_figure(grids), grids)
    caption = "Milliseconds of environments' steps: each row takes as long as its longest cell."
    page.show(ShownFigure("fig_lock_step_grids", caption, kind="fig_lock_step_grids"))
    page.heading("What was measured")
    if len(parts):
        study.save_figure("fig_sampling_diagnostic", sampling_diagnostic_figure(mean_parts(parts)), parts)
        caption = "What a vector step is made of, by sampler."
        page.show(ShownFigure("fig_sampling_diagnostic", caption, kind="fig_sampling_diagnostic"))
        page.paragraph(PARTS)
    if any(run.environment == TIMED for run in sampled):
        caption = "Sampling an iteration, beside the model with the same ends of episodes"
        page.numbers(caption, readable(comparison_table(sampled)))


def mean_parts(parts: pd.DataFrame) -> pd.DataFrame:
    """Return the means over repetitions."""
    return parts.groupby(["group", "sampler", "part"], as_index=False, sort=False)["milliseconds"].mean()


def losses(sampled: Sequence[Sampled]) -> list[str]:
    """Return a sentence for each run that has lost a worker."""
    return [
        f"{run.title} ({run.name}), repetition {run.repetition}, lost "
        f"{', '.join(str(lost['worker']) for lost in run.figures['lost_workers'])}: it is in no figure and no verdict."
        for run in sampled
        if not run.is_whole
    ]


def judged(measured: dict[str, Estimate], is_provisional: bool, caveats: Caveats) -> list[Verdict]:
    """Return the verdicts on the model, then those on what was measured; each claim is about the one or the other."""
    metrics = {MODEL: common_metrics()} | {SOURCES[name]: preset_metrics(talk) for name, talk in PRESETS.items()}
    claims = load_claims(HERE / "claims.toml")
    verdicts = []
    for subject, found in metrics.items():
        about = [claim for claim in claims if claim.metric in found]
        verdicts += judge(about, {subject: found}, hardware(), is_provisional)
    about = [claim for claim in claims if claim.metric.startswith("measured_")]
    return verdicts + judge(about, {MEASURED: measured}, hardware(), is_provisional, True, caveats)


if __name__ == "__main__":
    sys.exit(command_line(__doc__, HERE, run))
