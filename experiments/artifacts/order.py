"""This file decides the order in which the runs of all studies are recorded."""

import random
from collections.abc import Sequence

from experiments.harness.progress import StudyRun

#: The order within a repetition of a study is always the same, and not that of runs.toml.
SHUFFLE_SEED = 0


def in_order(runs: Sequence[StudyRun]) -> list[StudyRun]:
    """Return the first repetition of each study, then the second of each, and so on.

    For example, of studies A and B with two repetitions: A's first, B's first, A's second, B's second. So each study
    has a figure early, and a machine that gets slower meanwhile slows all workloads of a study alike.

    Args:
        runs: of all studies; the study that comes first here is recorded first.
    """
    places = {study: place for place, study in enumerate(dict.fromkeys(run.study for run in runs))}
    order = list(runs)
    random.Random(SHUFFLE_SEED).shuffle(order)
    return sorted(order, key=lambda run: (run.repetition, places[run.study]))
