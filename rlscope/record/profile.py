"""A script asks the recorder through this module, imported only then: most programs only name operations."""

from __future__ import annotations

import os
from contextlib import contextmanager

from rlscope.errors import UsageError

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than that of rlscope
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType


@contextmanager
def profile(
    output: str | os.PathLike[str], process_name: str | None = None, operations: Iterable[str] = ()
) -> Iterator[None]:
    """Record this process, and those it starts, while the block runs.

    Under `rlscope record` the process is recorded anyway: then only `process_name` has an effect.

    Args:
        output: The directory of the trace; it must not hold one already.
        process_name: A name for this process in tables and figures.
        operations: Functions that are operations, as `rlscope record --operation` takes them, such as
            "simulation=envs.my:Env.step".

    Raises:
        UsageError: `output` holds a trace already, or an operation is not written as it should be.
        RecordingError: the trace cannot be written.
    """
    from pathlib import Path

    from rlscope.libraries import LIBRARIES
    from rlscope.record import recorder
    from rlscope.record.config import STACKS_HZ, TRACE_VARIABLE, RecordConfig
    from rlscope.record.run import trace_directory
    from rlscope.record.undeclared.named_operations import parse

    if recorder.active is not None:
        if process_name is not None:
            recorder.active.rename(process_name)
        yield
        return
    directory = Path(output).resolve()
    config = RecordConfig(operations=tuple(parse(text).text for text in operations), stacks_hz=STACKS_HZ)
    lock = trace_directory.begin_trace(directory, config, command=None, is_forced=False)
    trace_directory.name_main_process(directory, os.getpid())
    before = dict(os.environ)
    os.environ.update(trace_directory.environment_of_children(directory, config, before))
    try:
        try:
            recorder.activate(directory, config, LIBRARIES, process_name)
        finally:
            os.close(lock)  # from here on this process's file has one
        yield
    finally:
        recorder.deactivate()
        for name in (TRACE_VARIABLE, "PYTHONPATH", trace_directory.INJECTION_VARIABLE):
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)
        trace_directory.end_trace(directory, exit_status=None)


def wrap_module(module: ModuleType | type, category: str = "simulator") -> int:
    """Record calls of a module's native functions: for a library whose boundary is not known yet.

    Args:
        module: A module, or a type whose native methods are meant.
        category: "simulator", "backend", "native", "cuda", "wait" or "python".

    Returns:
        How many functions are recorded, from now or from when the recording starts; 0 where there is none.

    Raises:
        UsageError: there is no such category, or nothing native in the module.
    """
    from rlscope.model import CALL_CATEGORIES
    from rlscope.record import recorder

    if category not in CALL_CATEGORIES:
        raise UsageError(f"a category is one of {', '.join(CALL_CATEGORIES)}; wrap_module() was given {category!r}")
    if recorder.active is None or recorder.active.is_over:
        return 0
    count = recorder.active.wrap(module, CALL_CATEGORIES[category])
    if count == 0:
        raise UsageError(
            f"{module.__name__} has no native functions that can be intercepted; give the module or type that does"
        )
    return count
