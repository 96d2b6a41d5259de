"""This file makes the table of trainings, which may follow each other in a process: seeds, trials, parts of one."""

from collections.abc import Iterable

from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.swept import SweptTraining
from rlscope.analysis.table_rows import TrainingRow
from rlscope.model import NS_PER_S


def training_rows(swept: TraceSweep) -> Rows[TrainingRow]:
    """Make the rows of `Analysis.trainings`: of each process in order of time."""
    return Rows(
        TrainingRow,
        (
            TrainingRow(
                process.name,
                number,
                training.iterations,
                timesteps_of([training]),
                training.total_timesteps or None,
                process.length_ns(ticks_without_evaluation(training)) / NS_PER_S,
            )
            for process in swept.processes
            for number, training in enumerate(process.found.trainings, start=1)
        ),
    )


def timesteps_of(trainings: Iterable[SweptTraining]) -> int:
    """Return how many timesteps were made in trainings; of one whose begin was not reported, all that it tells of."""
    return sum(training.last_timesteps - (training.baseline_timesteps or 0) for training in trainings)


def ticks_without_evaluation(training: SweptTraining) -> int:
    """Return how long a training took between its first and its last report, without evaluation."""
    return training.last_ticks - training.first_ticks - training.evaluation_ticks
