"""This file runs sampling and optimising in turn, and times each."""

import time
from typing import Any

import rlscope
from sampling.collected import Collected
from sampling.environments import prepare
from sampling.samplers import SAMPLERS, Sampler
from sampling.settings import Settings


def measure(settings: Settings) -> dict[str, Any]:
    """Run; return what there is to say of it.

    Raises:
        AllLostError: nothing was left that samples.
    """
    prepare(settings)
    sampler = SAMPLERS[settings.sampler](settings)
    try:
        runners = sampler.runners
        rows, found = iterations(settings, sampler)
    finally:
        sampler.close()
    return summary(settings, rows, found) | {"runners": runners}


def iterations(settings: Settings, sampler: Sampler) -> tuple[list[dict[str, Any]], list[Collected]]:
    """Return the iterations as they are printed, and what each has collected."""
    rows, found = [], []
    samples = 0
    total = settings.iterations * settings.steps * settings.environments
    with rlscope.operation("training_loop"):
        for _ in range(settings.iterations):
            begin_ns = time.perf_counter_ns()
            with rlscope.phase("sampling"):
                collected = sampler.collect()
            sampled_ns = time.perf_counter_ns()
            with rlscope.phase("optimization"), rlscope.operation("backpropagation"):
                sampler.optimize(collected.batch)
                sleep_until(sampled_ns, settings.optimize_s)
            optimized_ns = time.perf_counter_ns()
            samples += collected.samples
            rlscope.report_progress(timesteps=samples, total_timesteps=total)
            rows.append(
                {
                    "sampling_s": (sampled_ns - begin_ns) / 1e9,
                    "optimize_s": (optimized_ns - sampled_ns) / 1e9,
                    "samples": collected.samples,
                    "resets": collected.resets,
                    "worker_s": collected.worker_s,
                }
            )
            found.append(collected)
    return rows, found


def sleep_until(begin_ns: int, seconds: float | None) -> None:
    """Sleep until so many seconds have passed since then."""
    if seconds is not None:
        time.sleep(max(0.0, seconds - (time.perf_counter_ns() - begin_ns) / 1e9))


def summary(settings: Settings, rows: list[dict[str, Any]], found: list[Collected]) -> dict[str, Any]:
    """Return what the workload prints."""
    vector_steps = sum(collected.vector_steps for collected in found)
    quiet = sum(collected.steps_without_reset for collected in found)
    quiet_s = sum(collected.step_without_reset_s for collected in found)
    return {
        "sampler": settings.sampler,
        "environments": settings.environments,
        "environments_per_worker": settings.environments_per_worker,
        "steps": settings.steps,
        "iterations": rows,
        "step_s": sum(collected.step_s for collected in found) / vector_steps,
        "step_without_reset_s": quiet_s / quiet if quiet else None,
        "inference_s": sum(collected.inference_s for collected in found) / vector_steps,
        "lost_workers": [
            {"iteration": index} | lost for index, collected in enumerate(found) for lost in collected.lost
        ],
    }
