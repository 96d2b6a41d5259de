"""Starts the recording of a process that was started inside a recorded run."""

import os

from rlscope.libraries import LIBRARIES
from rlscope.record import recorder
from rlscope.record.config import TRACE_VARIABLE, RecordConfig


def start_in_child() -> None:
    """Record this process as the trace's configuration says. The program goes on where that cannot be done."""
    directory = os.environ[TRACE_VARIABLE]
    try:
        recorder.activate(directory, RecordConfig.load(directory), LIBRARIES)
    except Exception as error:  # whatever lies in that directory, the program is not to end by it
        recorder.give_up(directory, error)
