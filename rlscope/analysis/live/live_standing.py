"""This file finds where the threads of a run are now, or were when it ended: `rlscope why`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rlscope.analysis.hang.chain import PATIENCE_NS
from rlscope.analysis.hang.seen import Life, SeenProcess
from rlscope.analysis.hang.standing import Standing, iteration_s_of, last_ns, standing_at
from rlscope.analysis.live.live_trace import now_ns
from rlscope.analysis.live.window import Window
from rlscope.analysis.sweep import sweep_trace
from rlscope.trace.reader import Trace


def standing(trace: Trace, seen: Mapping[Path, SeenProcess]) -> Standing:
    """Find where the threads of a run are: now, or when the run ended.

    Args:
        trace: Of the run, which may still be recorded.
        seen: What the system says of its processes.

    Raises:
        TraceError: a file cannot be read.
        TraceFormatError: nothing of it can be used.
    """
    is_running = any(process.life is not Life.ENDED for process in seen.values())
    time_ns = now_ns(trace) if is_running else max(last_ns(file) for file in trace.processes)
    swept = sweep_trace(trace, recover=True, window=Window(time_ns - PATIENCE_NS, time_ns))
    found = standing_at(swept, seen, time_ns, is_running)
    if found.is_stuck and found.chain is not None and not found.chain.is_certain:
        # Whether that is unusual, the whole run tells.
        found = replace(found, iteration_s=iteration_s_of(sweep_trace(trace, recover=True)))
    return found
