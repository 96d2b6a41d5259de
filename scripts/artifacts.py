"""Run every case study, then write one page and one table of claims over all of them."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from experiments.algorithm_choice import run as algorithm_choice
from experiments.claims import claims_table, write_claims
from experiments.command_line import ARTIFACTS, Outcome, command_line
from experiments.RL_framework_comparison import run as framework_comparison
from experiments.simulator_choice import run as simulator_choice
from rlscope.plots.page import Page


@dataclass(frozen=True)
class Study:
    """A case study as it appears on the page."""

    name: str
    title: str
    run: Callable[[str, Path], Outcome]


STUDIES = (
    Study("experiment_RL_framework_comparison", "RL framework comparison", framework_comparison.run),
    Study("experiment_algorithm_choice", "Algorithm choice", algorithm_choice.run),
    Study("experiment_simulator_choice", "Simulator choice", simulator_choice.run),
)


def artifacts(budget: str, output: Path) -> Outcome:
    """Run all studies into directories of their own below `output`, and sum them up there."""
    outcomes = {study: study.run(budget, output / study.name) for study in STUDIES}
    page = Page("RL-Scope: case studies")
    page.paragraph(f"Budget: {budget}. Each study has a page of its own, with its figures and the numbers in them.")
    for study, outcome in outcomes.items():
        page.heading(study.title)
        page.link(f"{study.name}/index.html", "figures and tables")
        page.table(claims_table(outcome.verdicts))
    page.write(output / "index.html")
    everything = [verdict for outcome in outcomes.values() for verdict in outcome.verdicts]
    write_claims(everything, output)
    return Outcome(everything, [sentence for outcome in outcomes.values() for sentence in outcome.missing])


if __name__ == "__main__":
    sys.exit(command_line(__doc__, ARTIFACTS, artifacts))
