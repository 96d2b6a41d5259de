"""Language models: where GRPO spends its time, how long its stragglers take, and what overlapping brings.

python -m experiments.llm_rl.run --budget quick --output output/artifacts/experiment_llm_rl
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from experiments.command_line import Outcome, command_line
from experiments.harness.case_study import CaseStudy
from experiments.llm_rl.figures import overlap_figure, tail_figure
from experiments.llm_rl.measurements import Measurements, load, tables_of
from experiments.llm_rl.metrics import AHEAD, IN_TURN, WAITING, breakdown_of, metrics_of, overlap_table
from experiments.verdicts.intervals import caption_of, readable
from experiments.verdicts.other_machines import draw_and_judge, origin_here
from experiments.verdicts.results import executed_of
from experiments.verdicts.run_pages import add_runs
from experiments.verdicts.statistics import Estimate
from experiments.verdicts.study_page import ShownFigure, StudyPage
from rlscope.plots.breakdown import breakdown_figure
from rlscope.plots.tables import RECORDED_TIME

HERE = Path(__file__).parent
METHOD = (
    "A small language model with random weights learns to copy words by GRPO. In turn: one process generates, rewards, "
    "updates. Overlapped: a process of its own generates meanwhile, and takes new weights between two tokens. Agents: "
    "each sample is a task that may call a tool; an update waits for all samples, or (one ahead) goes on with those "
    "that are under way, and discards a sample during which there was more than one update. TRL: the same task by an "
    "unmodified GRPOTrainer. Breakdowns are recorded by RL-Scope; seconds of iterations, samples and steps of the "
    "engine are the workload's own."
)
TAIL = (
    "The tail, from 90 % of samples complete to the last, is shaded. The engine takes a step for few samples that "
    "lasts nearly as long as one for many. A sample that was complete before its iteration began, and waited for the "
    "others of its prompt, is complete at 0."
)
OVERLAP = "If generation and training take as long, overlap can halve an iteration; if one takes longer, less."


def run(study: CaseStudy) -> Outcome:
    """Record, draw and judge: this machine, and those whose measurements are kept."""
    executed, failures = executed_of(study)
    missing = [*study.left_out, *failures]
    executions = [execution for _, execution in executed]
    here = Measurements(**origin_here(study, executions), tables=tables_of(executed))
    if study.earlier:
        here = load(study.earlier).continued(here)
    page = StudyPage("Case study: language models", study.output, METHOD, *missing)
    add_runs(page, [(study_run.workload, execution.trace) for study_run, execution in executed])
    verdicts = draw_and_judge(study, page, here, load, draw, measured_metrics)
    return Outcome(verdicts, missing, executions, page.figures)


def measured_metrics(results: Measurements) -> Mapping[str, Estimate]:
    """Return the metrics of claims.toml."""
    return metrics_of(results.tables)


def draw(study: CaseStudy, page: StudyPage, title: str, suffix: str, results: Measurements) -> None:
    """Draw a machine's figures, as far as their workloads have run."""
    page.heading(title[0].upper() + title[1:])
    page.paragraph(results.source)
    labels = {entry.name: entry.label for entry in study.matrix.entries}
    tables = results.tables
    breakdown, names = breakdown_of(tables, labels)
    if len(breakdown):
        name = f"fig_llm_breakdown{suffix}"
        study.save_figure(name, breakdown_figure(breakdown, "seconds", names, time=RECORDED_TIME), breakdown)
        caption = "Stages by layer, of the whole training, for each process; what is in no stage is the training loop."
        page.show(ShownFigure(name, caption, (title,), "fig_llm_breakdown"))
    shown = [name for name in (IN_TURN, WAITING, AHEAD) if (tables.samples["workload"] == name).any()]
    if shown:
        name = f"fig_llm_tail{suffix}"
        figure = tail_figure(tables.samples, tables.steps, {workload: labels[workload] for workload in shown})
        study.save_figure(name, figure, tables.samples)
        page.show(ShownFigure(name, TAIL, (title,), "fig_llm_tail"))
    overlap = overlap_table(tables)
    if len(overlap):
        name = f"fig_llm_overlap{suffix}"
        study.save_figure(name, overlap_figure(overlap), overlap)
        page.show(ShownFigure(name, caption_of(OVERLAP, overlap), (title,), "fig_llm_overlap"))
        page.numbers(f"Overlap, {title}", readable(overlap))


if __name__ == "__main__":
    sys.exit(command_line(__doc__, HERE, run, in_parts=True))
