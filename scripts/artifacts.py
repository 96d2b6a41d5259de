"""Run every case study, then write one page and one table of claims over all of them."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from experiments.algorithm_choice import run as algorithm_choice
from experiments.command_line import ARTIFACTS, Outcome, exit_status, make_parser, run_study
from experiments.data_collection import run as data_collection
from experiments.gpu_utilization import run as gpu_utilization
from experiments.harness.case_study import CaseStudy
from experiments.harness.dry_run import print_runs
from experiments.harness.execute import Execution
from experiments.harness.progress import StudyRun
from experiments.harness.provenance import provenance, provenance_table
from experiments.harness.ray_scheduler import import_ray, record_on_ray, shuffled
from experiments.harness.slots import cores_needed, cores_of_machine, make_slots
from experiments.overhead_correction import run as overhead_correction
from experiments.overhead_correction.first_calibration import calibrate_first
from experiments.parallel_sampling import run as parallel_sampling
from experiments.RL_framework_comparison import run as framework_comparison
from experiments.scale_up import run as scale_up
from experiments.simulator_choice import run as simulator_choice
from experiments.verdicts.artifact import verdicts_on_artifact
from experiments.verdicts.claims import Verdict, add_claims, write_claims
from rlscope.errors import RLScopeError
from rlscope.plots.page import Page


@dataclass(frozen=True)
class Study:
    """A case study as it appears on the page."""

    title: str
    folder: Path
    run: Callable[[CaseStudy], Outcome]


STUDIES = (
    Study("RL framework comparison", framework_comparison.HERE, framework_comparison.run),
    Study("Algorithm choice", algorithm_choice.HERE, algorithm_choice.run),
    Study("Simulator choice", simulator_choice.HERE, simulator_choice.run),
    Study("Overhead correction", overhead_correction.HERE, overhead_correction.run),
    Study("Data collection", data_collection.HERE, data_collection.run),
    Study("Scale-up", scale_up.HERE, scale_up.run),
    Study("GPU utilisation", gpu_utilization.HERE, gpu_utilization.run),
    Study("Parallel sampling", parallel_sampling.HERE, parallel_sampling.run),
)


def main() -> int:
    """Parse the arguments, and run what they ask for."""
    parser = make_parser(__doc__, ARTIFACTS)
    parser.add_argument(
        "--ray-address", metavar="HOST:PORT", help="of a Ray cluster that shares this file system (default: none)"
    )
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    studies = [
        CaseStudy(study.folder, arguments.budget, output / f"experiment_{study.folder.name}", arguments.repetitions)
        for study in STUDIES
    ]
    runs = [run for study in studies for run in study.runs()]
    if arguments.dry_run:
        slots = [] if arguments.ray_address else make_slots(cores_of_machine(), cores_needed(runs))
        left_out = [sentence for study in studies for sentence in study.left_out]
        return exit_status(lambda: print_runs(shuffled(runs), slots, left_out))
    outputs = [output, *(study.output for study in studies)]
    return exit_status(lambda: artifacts(studies, runs, arguments.ray_address, output), outputs)


def artifacts(studies: Sequence[CaseStudy], runs: Sequence[StudyRun], address: str | None, output: Path) -> Outcome:
    """Record the runs of all studies, let each study make of them what it makes of its own, and sum them up."""
    import_ray(address)  # what is missing is said before the minutes of a calibration
    calibrate_first(runs)
    recorded = record_on_ray(runs, address, output)
    budget = studies[0].budget
    page = Page("RL-Scope: case studies")
    page.paragraph(f"Budget: {budget}. Each study has a page of its own, with its figures and the numbers in them.")
    verdicts: list[Verdict] = []
    missing: list[str] = []
    executions: list[Execution] = []
    broken: list[str] = []
    for about, study in zip(STUDIES, studies, strict=True):
        page.heading(about.title)
        try:
            outcome = run_study(replace(study, recorder=lambda _: recorded), about.run)
        except RLScopeError as error:
            missing.append(f"{about.title}: {error}")
            page.paragraph(str(error))
            continue
        page.link(f"{study.output.name}/index.html", "figures and tables")
        for sentence in outcome.broken:
            page.warning(sentence)
        add_claims(page, outcome.verdicts)
        verdicts += outcome.verdicts
        missing += outcome.missing
        executions += outcome.executions
        broken += outcome.broken
    page.heading("The artifact itself")
    of_artifact = verdicts_on_artifact(studies)
    add_claims(page, of_artifact)
    verdicts += of_artifact
    found = provenance(budget, {study.folder.name: study.repetitions_of_each for study in studies}, executions)
    page.heading("Where this comes from")
    page.table(provenance_table(found))
    page.write(output / "index.html")
    write_claims(verdicts, found, output)
    return Outcome(verdicts, missing, executions, broken)


if __name__ == "__main__":
    sys.exit(main())
