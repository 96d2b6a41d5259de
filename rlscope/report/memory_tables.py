"""This file makes the table of memory: the most that was in use, by stage."""

from rlscope.analysis.advice.words import as_bytes
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.rows import Record
from rlscope.model import NO_OPERATION, STAGES, TRAINING_LOOP

MEMORY_TITLE = "Memory: the most, by stage"


def memory_shown(analysis: Analysis) -> list[Record]:
    """Return a row per process and owner of memory: its peak, the most in each stage of the run, and what was left."""
    most: dict[tuple[str, str, int | None], dict[str, int]] = {}
    for row in analysis.memory:
        stages = most.setdefault((row.process, row.owner, row.device), {})
        stages[row.stage] = max(stages.get(row.stage, 0), row.highest_bytes)
    known = {stage for stages in most.values() for stage in stages}
    shown = [stage for stage in (*STAGES, TRAINING_LOOP, NO_OPERATION) if stage in known]
    return [
        {
            "process": growth.process,
            "memory": growth.owner if growth.device is None else f"{growth.owner}, GPU {growth.device}",
            "peak": as_bytes(growth.peak_bytes),
            **{stage: _text(most[growth.process, growth.owner, growth.device].get(stage)) for stage in shown},
            "at_end": as_bytes(growth.last_bytes),
        }
        for growth in analysis.memory_growth
    ]


def _text(size: int | None) -> str:
    return "" if size is None else as_bytes(size)
