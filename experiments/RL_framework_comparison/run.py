"""Framework comparison: TD3 and DDPG in PyTorch, TensorFlow and JAX, from eager to compiled.

python -m experiments.RL_framework_comparison.run --budget quick --output DIRECTORY
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.command_line import Outcome, command_line
from experiments.harness.case_study import CaseStudy, hardware
from experiments.harness.matrix import Group, load_matrix
from experiments.RL_framework_comparison.measurements import SUBJECT, Measurements, load
from experiments.RL_framework_comparison.metrics import gpu_measurements, measurements
from experiments.verdicts.claims import judge, load_claims
from experiments.verdicts.corrected import add_correction, caveats_of
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
from rlscope.plots.transitions import transitions_figure

HERE = Path(__file__).parent
METHOD = (
    "Colour is the hardware at work, hatch the layer of the stack. Black bars are the whole training of 2 million "
    "timesteps, at the speed of iterations that were not recorded; the bars below share it out as the recorded "
    "iterations were. Time between the stages counts as backpropagation, waiting as Python."
)
TITLE = "Framework and execution model"
#: What figures draw, as claims.toml names it.
TIME, TRANSITIONS = "time", "transitions"


def run(study: CaseStudy) -> Outcome:
    """Record, draw and judge."""
    results, executions, failures = results_of(study)
    missing = [*study.left_out, *failures]

    page = StudyPage("Case study: RL framework comparison", study.output, METHOD, *missing)
    add_correction(page, results)
    measured = {}
    for group in study.groups:
        chosen = [result for result in results if result.workload.group == group.name]
        draw(study, page, group, chosen)
        measured[group.name] = measurements(chosen) | (gpu_measurements(chosen) if hardware() == "gpu" else {})

    claims = load_claims(HERE / "claims.toml")
    judged = judge(claims, measured, hardware(), study.is_provisional, bool(missing), caveats_of(results))
    add_runs(page, zip((result.workload for result in results), (run.trace for run in executions), strict=True))
    of_others = []
    for name, others in kept_frameworks().items():
        draw_kept(study, page, name, others)
        of_others += others.verdicts_on(claims, gpu_measurements(others.results))
    verdicts = with_kept(judged, study.folder, of_others)
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
    figure = f"fig_td3_time_breakdown_{name}"
    study.save_figure(figure, breakdown_figure(table, "seconds", labels, TITLE, RECORDED_TIME), table)
    caption = caption_of(f"TD3 on {others.device_name}: recorded training, without compiling.", table)
    page.show(ShownFigure(figure, caption, (f"{SUBJECT}, {others.device_name}",)))
    page.numbers(f"TD3 on {others.device_name}: recorded training", readable(table))
    page.numbers(f"TD3 on {others.device_name}: what claims are about", readable(others.table()))


def draw(study: CaseStudy, page: StudyPage, group: Group, results: Sequence[Result]) -> None:
    """Draw the two figures of an algorithm, and the numbers of what is in no figure."""
    figure, title, subject = group.figure, f"{group.name} on {group.id}", group.name
    page.heading(title)
    shown = [result for result in results if result.workload.kind != "extra"]
    extra = [result for result in results if result.workload.kind == "extra"]
    labels = {result.workload.name: result.workload.label for result in results}
    if shown:
        published = Published(HERE)
        stem, table = f"{figure}_time_breakdown", mean_table(shown)
        drawn = breakdown_figure(table, "seconds", labels, TITLE, outlines=published.outlines(stem))
        study.save_figure(stem, drawn, table)
        caption = published.caption(stem, f"{title}: time of the whole training.")
        page.show(ShownFigure(stem, caption, (subject,), TIME))
        page.numbers(f"{title}: published and measured seconds", published.beside(stem, table, "seconds"))
        page.numbers(f"{title}: time of the whole training", readable(table))
        stem, table = f"{figure}_transitions", mean_transitions(shown)
        drawn = transitions_figure(table, "per_timestep", labels, TITLE, published.outlines(stem))
        study.save_figure(stem, drawn, table)
        caption = published.caption(stem, f"{title}: entries into the backend, CUDA and the simulator.")
        page.show(ShownFigure(stem, caption, (subject,), TRANSITIONS))
        page.numbers(f"{title}: published and measured entries", published.beside(stem, table, "per_timestep"))
        page.numbers(f"{title}: entries", readable(table))
    page.paragraphs(left_out_text(results, "the three stages"))
    if extra:
        page.numbers(f"{title}: for single claims, in no figure: time", readable(mean_table(extra)))
        page.numbers(f"{title}: for single claims, in no figure: entries", readable(mean_transitions(extra)))


if __name__ == "__main__":
    sys.exit(command_line(__doc__, HERE, run))
