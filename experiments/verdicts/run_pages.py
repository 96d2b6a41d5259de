"""This file makes the page of a run of each workload, and says on the page of their study where its time went."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from experiments.harness.progress import Workload
from experiments.verdicts.corrected import correction_for
from experiments.verdicts.study_page import StudyPage
from rlscope.analysis.account.words import account_sentence
from rlscope.page.grid import bins_for
from rlscope.page.make_page import make_page
from rlscope.page.plain_page import link
from rlscope.report.page_run import page_run
from rlscope.trace.reader import open_trace

#: In the output of a study: a folder for each group, with the page of a run of each of its workloads.
PAGES = "pages"


class RunPage(NamedTuple):
    """A row of the table that leads to the pages of runs."""

    group: str
    workload: str
    page: str
    causes: str


def add_runs(page: StudyPage, traces: Iterable[tuple[Workload, Path]]) -> None:
    """Say where the time of the first repetition of each workload went, beside a link to the page of that run.

    Args:
        page: the study's.
        traces: of recorded runs, in the order of their repetitions.
    """
    first: dict[Workload, Path] = {}
    for workload, trace in traces:
        first.setdefault(workload, trace)
    rows = [run_page(workload, trace, page.output) for workload, trace in first.items()]
    if rows:
        markup = {"page": lambda target: link(target, "page of the run")}
        page.numbers("Where the time of each run went", pd.DataFrame(rows), markup)


def run_page(workload: Workload, directory: Path, output: Path) -> RunPage:
    """Write the page of a run, of which a page is at most 5 MB, below the output of its study."""
    trace = open_trace(directory)
    name, bins = os.path.relpath(directory, output), bins_for(len(trace.processes))
    run = page_run(name, trace, bins, recover=False, correction=correction_for(trace))
    place = Path(PAGES, workload.group, f"{workload.name}.html")
    (output / place).parent.mkdir(parents=True, exist_ok=True)
    (output / place).write_text(make_page([run]), encoding="utf-8")
    return RunPage(workload.group, workload.name, place.as_posix(), account_sentence(run.analysis))
