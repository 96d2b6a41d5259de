"""This file makes the page over all studies: how far each is, its verdicts, and what to know before believing them."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

import pandas as pd

from experiments.artifacts.gallery import cards, section
from experiments.artifacts.painter import Drawing
from experiments.artifacts.study import PlannedStudy
from experiments.harness.progress import Progress, Recorded, repetitions_text
from experiments.verdicts.claims import Verdict, counts
from experiments.verdicts.study_page import count_chips
from rlscope.page.plain_page import Page, link
from rlscope.text import as_html
from rlscope.text.numbers import duration

INDEX = "index.html"
ARTIFACT = "The artifact itself"
#: Repetitions of one workload that differ by more were disturbed.
MOST_BETWEEN_REPETITIONS = 1.5


def started_page(
    doing: str,
    budget: str,
    studies: Sequence[PlannedStudy],
    progress: Progress,
    drawings: Mapping[str, Drawing],
    of_artifact: Sequence[Verdict] = (),
) -> Page:
    """Return the page as it is now; where all this comes from is added by who knows it.

    Args:
        doing: what happens now, as a sentence.
        budget: how much is run.
        studies: all.
        progress: of their runs.
        drawings: of the studies that were drawn, by title.
        of_artifact: verdicts on the artifact itself, when all studies are done.
    """
    now = datetime.now(timezone.utc)
    outcomes = [drawing.outcome for drawing in drawings.values() if drawing.outcome]
    page = Page("RL-Scope: case studies")
    page.paragraph(f"{doing} ({now:%Y-%m-%d %H:%M:%S} UTC)")
    all_counts = counts([*(verdict for outcome in outcomes for verdict in outcome.verdicts), *of_artifact])
    page.add(f"<p>{count_chips(all_counts)}</p>" if all_counts else "")
    markup = {"study": study_cell(studies, drawings), "verdicts": count_chips}
    page.table(state_table(studies, progress, drawings), "How far each study is", markup=markup)
    page.paragraph(f"Budget: {budget}. Each study has a page of its own, with its figures and the numbers in them.")
    page.add('<div id="filters"></div>')
    for study in studies:
        page.add(study_section(study, progress.recorded, drawings.get(study.about.title)))
    if of_artifact:
        page.add(section(ARTIFACT, "", cards(ARTIFACT, "", of_artifact, [])))
    return page


def study_section(study: PlannedStudy, recorded: Recorded, drawing: Drawing | None) -> str:
    """Return what is known of a study as HTML: what to know before believing it, its figures and its verdicts."""
    title, outcome = study.about.title, drawing.outcome if drawing else None
    if outcome is None:
        return section(title, "", f"<p>{as_html(drawing.problem if drawing else 'Not drawn yet.')}</p>")
    folder = study.case.output.name
    warnings = (f'<p class="warning">{as_html(said)}</p>' for said in [*disturbed(study, recorded), *outcome.broken])
    return section(
        title,
        f"{folder}/index.html",
        "".join(warnings) + cards(title, folder, outcome.verdicts, outcome.figures, study.case.names),
    )


def study_cell(studies: Sequence[PlannedStudy], drawings: Mapping[str, Drawing]) -> Callable[[str], str]:
    """Return what makes HTML of a study's title: a link to its page where it has been drawn."""
    addresses = {
        study.about.title: f"{study.case.output.name}/index.html"
        for study in studies
        if (drawing := drawings.get(study.about.title)) and drawing.outcome
    }
    return lambda title: link(addresses[title], title) if title in addresses else as_html(title)


def state_table(studies: Sequence[PlannedStudy], progress: Progress, drawings: Mapping[str, Drawing]) -> pd.DataFrame:
    """Return how far each study is: one row for each, in the order in which they begin.

    Returns:
        study; state; runs, those that have ended of all; figures, how often what they show was repeated; verdicts;
        left, of its recording.
    """
    rows = []
    for study in studies:
        drawing = drawings.get(study.about.title)
        ended = sum(not progress.recorded.is_open(run) for run in study.runs)
        has_left = ended < len(study.runs)
        rows.append(
            {
                "study": study.about.title,
                "state": state_of(study, progress, drawing),
                "runs": f"{ended} of {len(study.runs)}",
                "figures": figures_text(study, drawing),
                "verdicts": counts(drawing.outcome.verdicts) if drawing and drawing.outcome else "",
                "left": duration(progress.seconds_left(study.case.folder.name)) if has_left else "",
            }
        )
    return pd.DataFrame(rows)


def state_of(study: PlannedStudy, progress: Progress, drawing: Drawing | None) -> str:
    """Return what becomes of a study now, in a few words."""
    recorded = progress.recorded
    failed = len({run.study_workload for run in study.runs} & set(recorded.failures))
    remark = f", {failed} workloads failed" if failed > 1 else ", 1 workload failed" if failed else ""
    if any(run.study == study.case.folder.name for run in progress.running):
        return f"running{remark}"
    ended = study.repetitions_ended(recorded)
    if ended < study.case.repetitions_of_each:
        begun = any(not recorded.is_open(run) for run in study.runs)
        return ("waiting for its next runs" if begun else "waiting") + remark
    if drawing is None or not drawing.found.is_of_now(study, recorded):
        return ("recorded, is drawn last" if study.about.measures else "recorded, is being drawn") + remark
    return ("done" if drawing.outcome else "could not be drawn") + remark


def figures_text(study: PlannedStudy, drawing: Drawing | None) -> str:
    """Return what the study's figures show: "n = 1, uncorrected"; empty where there are none."""
    if drawing is None or drawing.outcome is None:
        return ""
    executed = drawing.found.recorded.executed_of(study.runs)
    if not executed:
        return "of other machines"
    text = repetitions_text(run.study_workload for run, _ in executed)
    return text if drawing.found.is_calibrated else f"{text}, uncorrected"


def disturbed(study: PlannedStudy, recorded: Recorded) -> list[str]:
    """Return a warning of workloads whose repetitions took unlike times: the machine was busy with something else."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for run, execution in recorded.executed_of(study.runs):
        seconds[f"{run.workload.name} of {run.workload.group}"].append(execution.seconds)
    unlike = [
        f"{name} took {duration(min(spent))} to {duration(max(spent))}"
        for name, spent in seconds.items()
        if max(spent) > MOST_BETWEEN_REPETITIONS * min(spent)
    ]
    if not unlike:
        return []
    return [
        f"The repetitions of {', of '.join(unlike)}: something else kept the machine busy, so these times may be wrong "
        "by as much. Remove their runs below runs/ and give the command again."
    ]


def write_page(page: Page, output: Path) -> None:
    """Write the page at once, so that a browser never finds half of it."""
    unfinished = output / f".{INDEX}"
    page.write(unfinished)
    unfinished.replace(output / INDEX)
