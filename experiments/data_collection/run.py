"""Data collection: how fast CartPole and its policy run, from a Gym loop to a fused kernel, and what limits each.

python -m experiments.data_collection.run --budget quick --output output/artifacts/experiment_data_collection
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.command_line import Outcome, command_line
from experiments.data_collection.figures import FIGURES, PUBLISHED
from experiments.data_collection.layers import layers_of
from experiments.data_collection.measurements import Measurements, load
from experiments.data_collection.metrics import metrics_of
from experiments.data_collection.robots.limits import COLUMNS
from experiments.data_collection.robots.metrics import robot_metrics
from experiments.data_collection.tables import distance_table
from experiments.data_collection.throughput import left_out_table, read_rows
from experiments.harness.case_study import CaseStudy
from experiments.harness.execute import Execution
from experiments.harness.progress import StudyRun
from experiments.verdicts.corrected import add_correction, analyzed
from experiments.verdicts.intervals import caption_of
from experiments.verdicts.other_machines import draw_and_judge, origin_here
from experiments.verdicts.results import executed_of
from experiments.verdicts.run_pages import add_runs
from experiments.verdicts.statistics import Estimate
from experiments.verdicts.study_page import ShownFigure, StudyPage

HERE = Path(__file__).parent
#: The group of runs.toml whose runs are recorded by RL-Scope.
RECORDED = "layers"
METHOD = (
    "Each way to collect data steps the same CartPole-v1 and asks the same policy, a network of 4-64-64-2 with tanh; a "
    "step counts once for each environment. K steps are made by one call. Warming up, compiling included, is not "
    "timed. Lines are means over repetitions, bands their 95 % intervals; a large marker shows where a "
    "line's plateau begins, at 90 % of its best, which is in the legend. Throughputs are not recorded."
)


def run(study: CaseStudy) -> Outcome:
    """Measure, draw and judge: this machine, and those whose measurements are kept."""
    executed, failures = executed_of(study)
    missing = [*study.left_out, *failures]
    here = measured_here(study, executed)
    page = StudyPage("Case study: data collection", study.output, METHOD, *missing)
    add_correction(page, [analyzed(execution.trace) for _, execution in recorded_of(executed)])
    add_runs(page, [(study_run.workload, execution.trace) for study_run, execution in recorded_of(executed)])
    verdicts = draw_and_judge(study, page, here, load, draw, measured_metrics)
    return Outcome(verdicts, missing, [execution for _, execution in executed], page.figures)


def recorded_of(executed: Sequence[tuple[StudyRun, Execution]]) -> list[tuple[StudyRun, Execution]]:
    """Return the runs that leave a trace."""
    return [one for one in executed if one[0].workload.group == RECORDED]


def measured_here(study: CaseStudy, executed: Sequence[tuple[StudyRun, Execution]]) -> Measurements:
    """Return what the runs of this machine have left."""
    rows: list[Mapping[str, Any]] = []
    for study_run, execution in executed:
        if study_run.workload.group != RECORDED:
            rows += read_rows(execution.trace.parent / "rows" / "rows.jsonl")
    layers, crossings = layers_of(recorded_of(executed))
    origin = origin_here(study, [execution for _, execution in executed])
    limits = pd.DataFrame(columns=COLUMNS)  # counters are recorded by a command of their own
    return Measurements(**origin, rows=rows, layers=layers, crossings=crossings, robot_limits=limits)


def draw(study: CaseStudy, page: StudyPage, title: str, suffix: str, results: Measurements) -> None:
    """Draw the figures of a machine, those for which it has measured something."""
    page.heading(title[0].upper() + title[1:])
    page.paragraph(results.source)
    for name, make, caption in FIGURES:
        drawn = make(results)
        if drawn is None:
            page.paragraph(f"{name}{suffix} is not drawn: nothing was measured for it on {title}.")
            continue
        study.save_figure(f"{name}{suffix}", *drawn)
        caption = caption_of(PUBLISHED.caption(name, caption), drawn[1])
        page.show(ShownFigure(f"{name}{suffix}", caption, (title,), name))
    distances = distance_table(results)
    if len(distances):
        page.paragraph("How far the best of each is from what limits it:")
        page.table(distances)
    left_out = left_out_table(results.measured)
    if len(left_out):
        page.paragraph("Cells that could not be measured:")
        page.table(left_out)


def measured_metrics(results: Measurements) -> Mapping[str, Estimate]:
    """Return the metrics of claims.toml; those whose cells were left out are missing."""
    of_cartpole = metrics_of(results.measured, results.layers, results.crossings)
    return of_cartpole | robot_metrics(results.measured, results.robot_limits)


if __name__ == "__main__":
    sys.exit(command_line(__doc__, HERE, run))
