"""Scale-up: what many processes of self-play make of one device, with inference in each worker and in one server.

python -m experiments.scale_up.run --budget quick --output output/artifacts/experiment_scale_up
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from experiments.command_line import Outcome, command_line
from experiments.harness.case_study import CaseStudy
from experiments.scale_up.measurements import KEY, Measurements, Tables, load, tables_of
from experiments.scale_up.metrics import busy_table, metrics_of
from experiments.verdicts.corrected import add_what_stays, analyzed
from experiments.verdicts.other_machines import draw_and_judge, origin_here
from experiments.verdicts.published import Published
from experiments.verdicts.results import executed_of
from experiments.verdicts.run_pages import add_runs
from experiments.verdicts.statistics import Estimate
from experiments.verdicts.study_page import ShownFigure, StudyPage
from rlscope.analysis.tables.processes import phase_groups
from rlscope.model import NO_PHASE
from rlscope.plots.processes import process_view

HERE = Path(__file__).parent
#: By who evaluates positions.
FIGURES = {"worker": "figure_8_scale_up", "server": "fig_scale_up_server"}
METHOD = (
    "One generation of AlphaZero on Go of 9x9: workers play against themselves, a process trains on their games, "
    "another lets the new network play against the former. Both ways to evaluate positions play the same games. Bars "
    "begin where a phase does and are as long as its whole time, the time in which a CPU worked for it and that in "
    "which the GPU did; an arrow runs to a process that waited from the one that it waited for."
)
UPPER_BOUND = (
    "The share of a device that one process has includes time in which the device had switched to another one, so "
    "shares of processes are upper bounds and their sum may exceed what the device can do. Busy is the union over all "
    "processes: exact."
)


def run(study: CaseStudy) -> Outcome:
    """Record, draw and judge: this machine, and those whose measurements are kept."""
    executed, failures = executed_of(study)
    missing = [*study.left_out, *failures]
    executions = [execution for _, execution in executed]
    here = Measurements(**origin_here(study, executions), tables=tables_of(executed))
    page = StudyPage("Case study: scale-up", study.output, METHOD, *missing)
    add_what_stays(page, [analyzed(execution.trace) for execution in executions])
    add_runs(page, [(study_run.workload, execution.trace) for study_run, execution in executed])
    verdicts = draw_and_judge(study, page, here, load, draw, measured_metrics)
    return Outcome(verdicts, missing, executions, page.figures)


def measured_metrics(results: Measurements) -> Mapping[str, Estimate]:
    """Return the metrics of claims.toml."""
    return metrics_of(results.tables)


def draw(study: CaseStudy, page: StudyPage, title: str, suffix: str, results: Measurements) -> None:
    """Draw a machine's figures, of the first repetition, and what is known of all."""
    page.heading(title[0].upper() + title[1:])
    page.paragraph(results.source)
    page.table(results.tables.runs)
    busy = busy_table(results.tables)
    if len(busy):
        page.paragraph(f"What was made of the device during self-play, in percent. {UPPER_BOUND}")
        page.table(busy)
    drawn = set()
    for inference, tables in results.tables.of_each_run():
        if inference not in drawn:
            drawn.add(inference)
            draw_run(study, page, inference, title, suffix, tables)


def draw_run(study: CaseStudy, page: StudyPage, inference: str, title: str, suffix: str, run: Tables) -> None:
    """Draw the figure of one run, how long its phases took, and who waited for whom."""
    name = f"{FIGURES[inference]}{suffix}"
    figure = process_view(run.phases, run.dependencies, run.utilization.dropna(), run.device_timeline)
    study.save_figure(name, figure, run.phases)
    labels = {entry.name: entry.label for entry in study.matrix.entries}
    caption = f"{labels[inference]}: a column of bars for each process."
    caption = Published(HERE).caption(FIGURES[inference], caption)
    page.show(ShownFigure(name, caption, (title,), FIGURES[inference]))
    page.paragraph("How long processes took for each phase, and which one ended it last:")
    page.table(phase_groups(run.phases.itertuples()).table)
    page.paragraph("Who waited for whom:")
    waited = run.dependencies[run.dependencies["wait_s"] > 0]
    page.table(waited.drop(columns=KEY).sort_values("wait_s", ascending=False).replace({"phase": {NO_PHASE: ""}}))


if __name__ == "__main__":
    sys.exit(command_line(__doc__, HERE, run))
