"""This file makes the document of `analyze --json`: all that is known of a trace, and the advice."""

from dataclasses import asdict

from rlscope.analysis.analysis import Analysis

SCHEMA = 1


def document_of(analysis: Analysis) -> dict[str, object]:
    """Return the document of `analyze --json`, schema 1."""
    return tables_of(analysis) | {"advice": advice_of(analysis)}


def advice_of(analysis: Analysis) -> dict[str, object] | None:
    """Return the document's advice; None if no process took time."""
    return analysis.advice.to_json_dict() if analysis.advice is not None else None


def tables_of(analysis: Analysis) -> dict[str, object]:
    """Return all of the document but the advice."""
    by_function: dict[str, object] = {
        "calls": analysis.calls.records(),
        "iteration_times": analysis.iteration_times.records(),
    }
    by_line: dict[str, object] = {
        "lines": analysis.lines.records(),
        "call_sites": analysis.call_sites.records(),
        "torn_stacks": analysis.torn_stacks,
    }
    return {
        "schema": SCHEMA,
        "complete": analysis.complete,
        "why": list(analysis.why),
        "dropped_events": analysis.dropped_events,
        "misnested_operations": analysis.misnested_operations,
        "processes": analysis.processes.records(),
        "breakdown": analysis.breakdown.records(),
        "outside": analysis.outside.records(),
        "memory": analysis.memory.records(),
        "memory_growth": analysis.memory_growth.records(),
        "sync_points": analysis.sync_points.records(),
        "transitions": analysis.transitions.records(),
        "machines": analysis.machines.records(),
        "gpu": [{name: value for name, value in row.items() if name != "name"} for row in analysis.gpu.records()],
        "gpu_operations": analysis.gpu_operations.records(),
        "device_shares": analysis.device_shares.records(),
        "device_switches": analysis.device_switches.records(),
        "device_idle": analysis.device_idle.records(),
        "launches": analysis.launches.records(),
        "phases": analysis.phases.records(),
        "waits": analysis.waits.records(),
        "tasks": analysis.tasks.records(),
        "samples": analysis.samples.records(),
        "sample_tails": analysis.sample_tails.records(),
        "dependencies": analysis.dependencies.records(),
        "collectives": analysis.collectives.records(),
        "ranks": analysis.ranks.records(),
        "stragglers": analysis.stragglers.records(),
        "collective_kernels": analysis.collective_kernels.records(),
        "device_ranks": analysis.device_ranks.records(),
        "device_timeline": analysis.device_timeline.records(),
        "counters": analysis.counters.records(),
        "counter_runs": asdict(analysis.counter_runs) if analysis.counter_runs is not None else None,
        "iterations": analysis.iterations,
        "timesteps": analysis.timesteps,
        "total_timesteps": analysis.total_timesteps,
        "extrapolated_s": analysis.extrapolated_s,
        **asdict(analysis.token_rates),
        "evaluation_s": analysis.evaluation_s,
        "correction": asdict(analysis.correction) if analysis.correction is not None else None,
        "uncorrected": analysis.uncorrected,
        **(by_function if analysis.calls else {}),
        **(by_line if analysis.lines else {}),
    }
