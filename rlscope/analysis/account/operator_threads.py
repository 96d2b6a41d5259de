"""This file finds how long a process waited for threads of its operators, which share one operation of PyTorch.

They wait for each other at its end. Where there are more threads than cores, one of them has none. The one that asked
for the operation then neither runs nor is ready to run: its operations take longer than it ran, was ready to run, and
waited for what is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rlscope.analysis.lines.own_lines import OwnLines
from rlscope.analysis.rows import sums
from rlscope.analysis.table_rows import BreakdownRow, CpuTimeRow
from rlscope.model import STAGES, Category

#: Less is what the kernel's and the recorder's clocks differ by, and pages of memory that are new.
_LEAST_SHARE = 0.1
_LEAST_THREADS = 2
_LIBRARY = "torch."
_BACKEND, _NO_CORE, _WAIT = (each.label for each in (Category.BACKEND, Category.NO_CORE, Category.WAIT))
_OF_DEVICES = Category.CUDA.label


def operator_thread_shares(
    process: str, breakdown: Iterable[BreakdownRow], cpu_times: Iterable[CpuTimeRow], lines: OwnLines
) -> Mapping[str, float]:
    """Return by stage which part of a process's time in PyTorch it waited so, from 0 to 1; no stage without such waits.

    Where it makes CUDA calls these may be what it waits for; functions of other libraries wait for threads of theirs.

    Args:
        process: The process.
        breakdown: Its times by layers, perhaps those of others, too.
        cpu_times: How long its threads were in operations and ran meanwhile, perhaps those of others, too.
        lines: Of the program's own code.
    """
    threads = lines.processes[process].found.properties.get("operator_threads")
    if not isinstance(threads, int) or threads < _LEAST_THREADS:
        return {}
    seconds = sums(((row.stage, row.category), row.seconds) for row in breakdown if row.process == process)
    off_s = sums((row.stage, row.seconds - row.cpu_s) for row in cpu_times if row.process == process)
    found = {}
    for stage in STAGES:
        backend_s = seconds.get((stage, _BACKEND), 0.0)
        if not backend_s or (stage, _OF_DEVICES) in seconds:
            continue
        known_s = seconds.get((stage, _NO_CORE), 0.0) + seconds.get((stage, _WAIT), 0.0)
        share = min((off_s.get(stage, 0.0) - known_s) / backend_s, 1.0)
        functions = {time.function for time in lines.times(process, stage=stage, category=_BACKEND)}
        if share >= _LEAST_SHARE and all(function.startswith(_LIBRARY) for function in functions):
            found[stage] = share
    return found
