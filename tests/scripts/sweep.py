"""Records the matrix of a folder, as case studies do: sweep.py FOLDER OUTPUT in-turn|ray|HOST:PORT (of a cluster)."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from experiments.command_line import Outcome, exit_status
from experiments.harness.case_study import CaseStudy
from experiments.harness.progress import Progress, record_in_turn
from experiments.harness.ray_scheduler import record_on_ray

folder, output, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
runs = CaseStudy(folder, "quick", output).runs()


def sweep() -> Outcome:
    """Records; there is nothing to judge."""
    address = None if how == "ray" else how
    if how == "in-turn":
        recorded = record_in_turn(runs)
    else:
        progress = Progress(runs)
        record_on_ray(progress, runs, address, output)
        recorded = progress.recorded
    return Outcome([], recorded.failures_of(runs), [execution for _, execution in recorded.executed_of(runs)])


sys.exit(exit_status(sweep, [output]))
