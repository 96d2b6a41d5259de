"""Run every case study, then write one page and one table of claims over all of them."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from experiments.algorithm_choice import run as algorithm_choice
from experiments.claims import Verdict, claims_table, write_claims
from experiments.command_line import ARTIFACTS, command_line
from rlscope.plots.page import Page


@dataclass(frozen=True)
class Study:
    """A case study as it appears on the page."""

    name: str
    title: str
    run: Callable[[str, Path], list[Verdict]]


STUDIES = (Study("experiment_algorithm_choice", "Algorithm choice", algorithm_choice.run),)


def artifacts(budget: str, output: Path) -> list[Verdict]:
    """Run all studies into directories of their own below `output`, and sum them up there."""
    verdicts = {study: study.run(budget, output / study.name) for study in STUDIES}
    page = Page("RL-Scope: case studies")
    page.paragraph(f"Budget: {budget}. Each study has a page of its own, with its figures and the numbers in them.")
    for study, found in verdicts.items():
        page.heading(study.title)
        page.link(f"{study.name}/index.html", "figures and tables")
        page.table(claims_table(found))
    page.write(output / "index.html")
    everything = [verdict for found in verdicts.values() for verdict in found]
    write_claims(everything, output)
    return everything


if __name__ == "__main__":
    sys.exit(command_line(__doc__, ARTIFACTS, artifacts))
