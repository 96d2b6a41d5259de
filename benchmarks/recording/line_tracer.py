"""This file counts how often each line runs, with what the interpreter offers: the least that a line tracer does."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

Lines = Counter[tuple[CodeType, int]]

if sys.version_info >= (3, 12):
    NAME = "sys.monitoring, every line"

    @contextmanager
    def line_tracer() -> Iterator[Lines]:
        """Yield how often each line has run, which is counted until the block ends."""
        monitoring, lines = sys.monitoring, Lines()

        def at_line(code: CodeType, line: int) -> None:
            lines[code, line] += 1

        monitoring.use_tool_id(monitoring.PROFILER_ID, NAME)
        monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.LINE, at_line)
        monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.LINE)
        try:
            yield lines
        finally:
            monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.NO_EVENTS)
            monitoring.free_tool_id(monitoring.PROFILER_ID)

else:
    NAME = "sys.settrace, every line"

    @contextmanager
    def line_tracer() -> Iterator[Lines]:
        """Yield how often each line of functions that begin in the block has run, which is counted until it ends."""
        lines = Lines()

        def at_event(frame: FrameType, event: str, _: object) -> Any:
            if event == "line":
                lines[frame.f_code, frame.f_lineno] += 1
            return at_event

        sys.settrace(at_event)
        try:
            yield lines
        finally:
            sys.settrace(None)
