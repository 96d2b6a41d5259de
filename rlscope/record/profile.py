"""profile(): records from inside a script."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rlscope.record import recorder
from rlscope.record.config import TRACE_VARIABLE, RecordConfig
from rlscope.record.trace_directory import (
    INJECTION_VARIABLE,
    begin_trace,
    end_trace,
    environment_of_children,
    name_main_process,
)


@contextmanager
def profile(output: str | os.PathLike[str], process_name: str | None = None) -> Iterator[None]:
    """Records this process, and those it starts, while the block runs.

    Under `rlscope record` the process is recorded anyway: then only `process_name` has an effect.

    Args:
        output: The directory of the trace; it must not hold one already.
        process_name: A name for this process in tables and figures.

    Raises:
        UsageError: `output` holds a trace already.
        RecordingError: the trace cannot be written.
    """
    if recorder.active is not None:
        if process_name is not None:
            recorder.active.rename(process_name)
        yield
        return
    directory = Path(output).resolve()
    config = RecordConfig()
    begin_trace(directory, config, command=None, is_forced=False)
    name_main_process(directory, os.getpid())
    before = dict(os.environ)
    os.environ.update(environment_of_children(directory, config, before))
    try:
        recorder.activate(directory, config, process_name)
        yield
    finally:
        recorder.deactivate()
        for name in (TRACE_VARIABLE, "PYTHONPATH", INJECTION_VARIABLE):
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)
        end_trace(directory, exit_status=None)
