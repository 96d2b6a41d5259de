"""The document of `analyze --json`: all that is known of a trace, and the advice."""

from dataclasses import asdict
from typing import Any

from rlscope.analysis.advice.advice import advise
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.records import records
from rlscope.analysis.tables.gpu import GPU_COLUMNS

SCHEMA = 1


def document_of(analysis: Analysis) -> dict[str, Any]:
    """The document of `analyze --json`, schema 1."""
    advice = advise(analysis)
    return {
        "schema": SCHEMA,
        "complete": analysis.complete,
        "dropped_events": analysis.dropped_events,
        "misnested_operations": analysis.misnested_operations,
        "processes": records(analysis.processes),
        "breakdown": records(analysis.breakdown),
        "outside": records(analysis.outside),
        "transitions": records(analysis.transitions),
        "machines": records(analysis.machines),
        "gpu": records(analysis.gpu[list(GPU_COLUMNS)]),
        "gpu_operations": records(analysis.gpu_operations),
        "phases": records(analysis.phases),
        "waits": records(analysis.waits),
        "tasks": records(analysis.tasks),
        "dependencies": records(analysis.dependencies),
        "device_timeline": records(analysis.device_timeline),
        "counters": records(analysis.counters),
        "counter_runs": asdict(analysis.counter_runs) if analysis.counter_runs is not None else None,
        "iterations": analysis.iterations,
        "timesteps": analysis.timesteps,
        "total_timesteps": analysis.total_timesteps,
        "extrapolated_s": analysis.extrapolated_s,
        "evaluation_s": analysis.evaluation_s,
        "correction": asdict(analysis.correction) if analysis.correction is not None else None,
        "uncorrected": analysis.uncorrected,
        "advice": advice.to_json_dict() if advice is not None else None,
    }
