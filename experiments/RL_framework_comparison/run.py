"""Framework comparison: TD3 and DDPG in PyTorch, TensorFlow and JAX, from eager to compiled.

python -m experiments.RL_framework_comparison.run --budget quick --output DIRECTORY
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from experiments.command_line import Outcome, command_line
from experiments.harness.case_study import CaseStudy, hardware
from experiments.harness.matrix import Group, load_matrix
from experiments.RL_framework_comparison.figure import TITLE, Column, framework_figure
from experiments.RL_framework_comparison.measurements import SUBJECT, Measurements, load
from experiments.RL_framework_comparison.metrics import gpu_measurements, measurements
from experiments.verdicts.claims import judge, load_claims
from experiments.verdicts.corrected import add_correction, caveats_of
from experiments.verdicts.deciding import deciding
from experiments.verdicts.intervals import caption_of, readable
from experiments.verdicts.kept_verdicts import MEASURED, with_kept
from experiments.verdicts.other_machines import kept_results
from experiments.verdicts.published import Published
from experiments.verdicts.results import (
    Result,
    left_out_text,
    mean_table,
    mean_transitions,
    results_of,
)
from experiments.verdicts.run_pages import add_runs
from experiments.verdicts.study_page import ShownFigure, StudyPage
from rlscope.plots.breakdown import breakdown_figure
from rlscope.plots.tables import RECORDED_TIME

HERE = Path(__file__).parent
METHOD = (
    "Colour is the hardware at work, hatch the layer of the stack. Black bars are the whole training of 2 million "
    "timesteps, at the speed of iterations that were not recorded; the bars below share it out as the recorded "
    "iterations were. Time between the stages counts as backpropagation, waiting as Python."
)
FIGURE = "figure_4_framework_comparison"
CAPTION = (
    "Above: time of the whole training; bars that end at the frame go on, to what stands beside them. Below: entries "
    "into the backend, CUDA and the simulator, per timestep of the environment; the paper's are per iteration, of 1000 "
    "timesteps in (c) and of 100 in (d)."
)
#: Of the panels, an algorithm after the other.
TIME_LETTERS, TRANSITIONS_LETTERS = "ab", "cd"
#: Column of the heights, and what they are: of panels of time, and of transitions.
VALUES = (("seconds", "seconds"), ("per_timestep", "entries"))


def run(study: CaseStudy) -> Outcome:
    """Record, draw and judge."""
    results, executions, failures = results_of(study)
    missing = [*study.left_out, *failures]

    page = StudyPage("Case study: RL framework comparison", study.output, METHOD, *missing)
    add_correction(page, results)
    by_group = {
        group.name: [result for result in results if result.workload.group == group.name] for group in study.groups
    }
    draw(study, page, by_group)
    measured = {}
    for group in study.groups:
        chosen = by_group[group.name]
        add_rest(page, group, chosen)
        measured[group.name] = measurements(chosen) | (gpu_measurements(chosen) if hardware() == "gpu" else {})

    claims = load_claims(HERE / "claims.toml")
    judged = judge(claims, measured, hardware(), study.is_provisional, bool(missing), caveats_of(results))
    add_runs(page, zip((result.workload for result in results), (run.trace for run in executions), strict=True))
    of_others = []
    for name, others in kept_frameworks().items():
        draw_kept(study, page, name, others)
        of_others += others.verdicts_on(claims, gpu_measurements(others.results))
    verdicts = deciding(with_kept(judged, study.folder, of_others), study)
    page.claims(verdicts)
    page.write(study.output / "index.html")
    return Outcome(verdicts, missing, executions, page.figures)


def kept_frameworks() -> dict[str, Measurements]:
    """Return the results of machines with a GPU, which `scripts/gpu_suite.sh OUTPUT frameworks` makes, by folder."""
    entries = load_matrix(HERE / "runs.toml").entries
    return kept_results(HERE / MEASURED, lambda directory: load(directory, entries))


def draw_kept(study: CaseStudy, page: StudyPage, name: str, others: Measurements) -> None:
    """Show what another machine has recorded: a figure, and the numbers that claims are about."""
    page.heading(f"TD3 on {others.device_name}")
    page.paragraph(others.source)
    add_correction(page, others.results)
    table = mean_table(others.results)
    labels = {result.workload.name: result.workload.label for result in others.results}
    figure = f"{FIGURE}_{name}"
    study.save_figure(figure, breakdown_figure(table, "seconds", labels, TITLE, RECORDED_TIME), table)
    caption = caption_of(f"TD3 on {others.device_name}: recorded training, without compiling.", table)
    page.show(ShownFigure(figure, caption, (f"{SUBJECT}, {others.device_name}",)))
    page.numbers(f"TD3 on {others.device_name}: recorded training", readable(table))
    page.numbers(f"TD3 on {others.device_name}: what claims are about", readable(others.table()))


def column_of(group: Group, results: Sequence[Result], letters: tuple[str, str], published: Published) -> Column | None:
    """Return the two panels of an algorithm; None where none of their workloads could be run."""
    shown = [result for result in results if result.workload.kind != "extra"]
    if not shown:
        return None
    above, below = letters
    outlines = published.outlines(FIGURE, above), published.outlines(FIGURE, below)
    return Column(f"{group.name} on {group.id}", mean_table(shown), mean_transitions(shown), letters, outlines)


def draw(study: CaseStudy, page: StudyPage, results: Mapping[str, Sequence[Result]]) -> None:
    """Draw the figure of all algorithms, and the numbers in it.

    Args:
        study: with a group for each algorithm.
        page: to draw on.
        results: by the name of the group.
    """
    published = Published(HERE)
    letters = zip(TIME_LETTERS, TRANSITIONS_LETTERS, strict=True)
    found = [
        column_of(group, results[group.name], of_group, published)
        for group, of_group in zip(study.groups, letters, strict=True)
    ]
    columns = [column for column in found if column]
    if columns:
        labels = {result.workload.name: result.workload.label for runs in results.values() for result in runs}
        study.save_figure(FIGURE, framework_figure(columns, labels), pd.concat([column.table for column in columns]))
        page.heading(published.heading(FIGURE, "RL framework comparison"))
        page.show(ShownFigure(FIGURE, published.caption(FIGURE, CAPTION), tuple(results)))
    for column in columns:
        tables = zip(column.letters, (column.time, column.transitions), VALUES, strict=True)
        for letter, table, (value, what) in tables:
            beside = published.beside(FIGURE, table, value, letter)
            page.numbers(f"({letter}) {column.name}: published and measured {what}", beside)
            page.numbers(f"({letter}) {column.name}: {what}", readable(table))


def add_rest(page: StudyPage, group: Group, results: Sequence[Result]) -> None:
    """Show the numbers of an algorithm that are in no figure."""
    title = f"{group.name} on {group.id}"
    page.paragraphs(left_out_text(results, f"the three stages of {group.name}"))
    extra = [result for result in results if result.workload.kind == "extra"]
    if extra:
        page.numbers(f"{title}: for single claims, in no figure: time", readable(mean_table(extra)))
        page.numbers(f"{title}: for single claims, in no figure: entries", readable(mean_transitions(extra)))


if __name__ == "__main__":
    sys.exit(command_line(__doc__, HERE, run))
