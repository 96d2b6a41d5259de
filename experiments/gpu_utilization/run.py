"""GPU utilisation: what a driver reports of tiny kernels, beside what the device does.

python -m experiments.gpu_utilization.run --budget quick --output output/artifacts/experiment_gpu_utilization
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from experiments.command_line import Outcome, command_line
from experiments.gpu_utilization.figures import reported_utilization_figure
from experiments.gpu_utilization.measurements import Measurements, Tables, load, points_of
from experiments.gpu_utilization.metrics import metrics_of, percent_table
from experiments.harness.case_study import CaseStudy
from experiments.verdicts.other_machines import draw_and_judge, origin_here
from experiments.verdicts.results import executed_of
from experiments.verdicts.statistics import Estimate
from experiments.verdicts.study_page import ShownFigure, StudyPage

HERE = Path(__file__).parent
FIGURE = "fig_gpu_utilization"
CAPTION = (
    "What is reported of kernels of one thread and of a wide one, and what the device does, over the gap between two."
)
METHOD = (
    "One process launches a kernel of one thread, waits for its end, then for as long as the gap, and again, for some "
    "seconds with each length and gap. Reported is the mean utilisation of NVML, which nvidia-smi shows, over the "
    "second half of that time; busy is the share of it in which the device worked, by the records of its kernels; SM "
    "efficiency is the share of all cycles of all multiprocessors in which a warp was resident, by the device's own "
    "counters. All three would be 100 % of a device that is fully used. Times include what recording adds."
)


def run(study: CaseStudy) -> Outcome:
    """Record, draw and judge: this machine if it has a GPU, and those whose measurements are kept."""
    executed, failures = executed_of(study) if study.workloads else ([], [])
    missing = [*study.left_out, *failures]
    executions = [execution for _, execution in executed]
    here = Measurements(**origin_here(study, executions), tables=Tables(points_of(executed)))
    page = StudyPage("Case study: GPU utilisation", study.output, METHOD, *missing)
    verdicts = draw_and_judge(study, page, here, load, draw, measured_metrics)
    return Outcome(verdicts, missing, executions, page.figures)


def measured_metrics(results: Measurements) -> Mapping[str, Estimate]:
    """Return the metrics of claims.toml."""
    return metrics_of(results.tables.points)


def draw(study: CaseStudy, page: StudyPage, title: str, suffix: str, results: Measurements) -> None:
    """Draw a machine's figure and the numbers in it."""
    page.heading(title[0].upper() + title[1:])
    if results.tables.points.empty:
        page.paragraph("Nothing was measured here: that takes a GPU.")
        return
    page.paragraph(results.source)
    table = percent_table(results.tables.points)
    study.save_figure(f"{FIGURE}{suffix}", reported_utilization_figure(table), table)
    page.show(ShownFigure(f"{FIGURE}{suffix}", CAPTION, (title,)))
    if table["sm_efficiency"].isna().all():
        page.paragraph("The device's counters were not sampled; `rlscope inspect` of the run's trace says why.")
    page.numbers(f"What was measured, {title}", results.tables.points)


if __name__ == "__main__":
    sys.exit(command_line(__doc__, HERE, run))
