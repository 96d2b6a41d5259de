"""This file calibrates this machine after the first figure, so that all studies are corrected."""

import sys
from collections.abc import Sequence

from experiments.harness.progress import StudyRun
from experiments.overhead_correction.run import HERE, calibrate
from rlscope.calibration.calibration import cache_path, to_record_with
from rlscope.errors import UsageError


def calibrate_first(runs: Sequence[StudyRun]) -> None:
    """Calibrate as `rlscope calibrate` does, into the user's cache, unless there is a calibration of this machine.

    The study of correction would make one in any case, and takes this one.

    Args:
        runs: of all studies. Without any of the study of correction nothing is measured.
    """
    if not has_to_calibrate(runs):
        return
    of_correction = [planned.run for planned in runs if planned.study == HERE.name]
    cache_path().parent.mkdir(parents=True, exist_ok=True)
    try:
        calibrate(of_correction[0], cache_path(), [])
    except UsageError as error:
        print(f"rlscope: studies go on with uncorrected times: {error}", file=sys.stderr)


def has_to_calibrate(runs: Sequence[StudyRun]) -> bool:
    """Return whether the study of correction is among the runs, and this user has no calibration of this machine."""
    return any(planned.study == HERE.name for planned in runs) and not is_calibrated()


def is_calibrated() -> bool:
    """Return whether this user has a calibration of this machine."""
    return to_record_with() is not None
