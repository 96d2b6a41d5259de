"""Records and draws two small studies as `make artifacts` does all: two_studies.py FOLDER FOLDER OUTPUT."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from experiments.artifacts.record_and_draw import Artifacts
from experiments.artifacts.study import PlannedStudy, Study
from experiments.command_line import Outcome, exit_status
from experiments.harness.case_study import CaseStudy
from rlscope.page.plain_page import Page


def draw(case: CaseStudy) -> Outcome:
    """Shows how many runs there are."""
    executed, failures = case.record(case.runs())
    page = Page("A small study")
    for sentence in failures:
        page.paragraph(sentence)
    page.paragraph(f"Drawn from {len(executed)} runs.")
    page.write(case.output / "index.html")
    return Outcome([], failures, [execution for _, execution in executed])


def main() -> int:
    """Records and draws."""
    *folders, output = map(Path, sys.argv[1:])
    studies = [
        PlannedStudy(Study(folder.name, folder, draw), CaseStudy(folder, "quick", output / folder.name))
        for folder in folders
    ]
    outputs = [output, *(study.case.output for study in studies)]
    return exit_status(lambda: Artifacts(studies, None, output).make(), outputs)


if __name__ == "__main__":
    sys.exit(main())
