"""Run every case study, and write one page and one table of claims over all of them, from the first run on."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.algorithm_choice import run as algorithm_choice
from experiments.artifacts.order import in_order
from experiments.artifacts.record_and_draw import Artifacts
from experiments.artifacts.study import PlannedStudy, Study
from experiments.command_line import ARTIFACTS, exit_status, make_parser
from experiments.data_collection import run as data_collection
from experiments.gpu_utilization import run as gpu_utilization
from experiments.harness.case_study import CaseStudy
from experiments.harness.dry_run import print_runs
from experiments.harness.slots import cores_needed, cores_of_machine, make_slots
from experiments.llm_rl import run as llm_rl
from experiments.overhead_correction import run as overhead_correction
from experiments.parallel_sampling import run as parallel_sampling
from experiments.RL_framework_comparison import run as framework_comparison
from experiments.scale_up import run as scale_up
from experiments.simulator_choice import run as simulator_choice

#: In the order in which they begin: what takes few minutes, and tells much, comes first.
STUDIES = (
    Study("Algorithm choice", algorithm_choice.HERE, algorithm_choice.run),
    Study("Simulator choice", simulator_choice.HERE, simulator_choice.run),
    Study("Scale-up", scale_up.HERE, scale_up.run),
    Study("RL framework comparison", framework_comparison.HERE, framework_comparison.run),
    Study("Parallel sampling", parallel_sampling.HERE, parallel_sampling.run),
    Study("Language models", llm_rl.HERE, llm_rl.run),
    Study("Data collection", data_collection.HERE, data_collection.run),
    Study("Overhead correction", overhead_correction.HERE, overhead_correction.run, measures=True),
    Study("GPU utilisation", gpu_utilization.HERE, gpu_utilization.run),
)


def main() -> int:
    """Parse the arguments, and run what they ask for."""
    parser = make_parser(__doc__, ARTIFACTS)
    parser.add_argument(
        "--ray-address", metavar="HOST:PORT", help="of a Ray cluster that shares this file system (default: none)"
    )
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    budget, repetitions = arguments.budget, arguments.repetitions
    studies = [
        PlannedStudy(study, CaseStudy(study.folder, budget, output / f"experiment_{study.folder.name}", repetitions))
        for study in STUDIES
    ]
    if arguments.dry_run:
        runs = in_order([run for study in studies for run in study.runs])
        slots = [] if arguments.ray_address else make_slots(cores_of_machine(), cores_needed(runs))
        left_out = [sentence for study in studies for sentence in study.case.left_out]
        return exit_status(lambda: print_runs(runs, slots, left_out))
    outputs = [output, *(study.case.output for study in studies)]
    return exit_status(lambda: Artifacts(studies, arguments.ray_address, output).make(), outputs)


if __name__ == "__main__":
    sys.exit(main())
