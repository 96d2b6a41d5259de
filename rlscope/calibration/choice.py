"""This file chooses the calibration with which the times of a trace are corrected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rlscope.calibration.calibration import of_trace

if TYPE_CHECKING:
    from rlscope.analysis.correction.corrected import Correction
    from rlscope.trace.reader import Trace

AUTO = "auto"
NONE = "none"


def chosen(trace: Trace, correct: str) -> Correction | str:
    """Return the correction that is asked for, or why times are not corrected.

    Args:
        trace: the trace whose times are to be corrected.
        correct: `auto` for the calibration that the trace was recorded with or the user's own, `none` for no
            correction, or the file of a calibration.

    Raises:
        UsageError: the calibration is damaged or made under other conditions.
    """
    if correct == NONE:
        return "--correct none was given"
    clock = trace.processes[0].clock_kind.name.lower()
    return of_trace(trace.manifest, clock, None if correct == AUTO else Path(correct))
