"""This file measures the time of a named operation and of reporting a sample, recorded and with nothing recording."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat

import nvtx
import torch
import viztracer

import rlscope
from benchmarks.recording import peers
from benchmarks.result import Target, print_results, results
from benchmarks.timing import Loop, Recording, added_ns

CALLS = 50_000
REPEATS = 25
RECORDED = Target(60)
DISABLED = Target(60)


def empty(calls: int) -> None:
    """Run the loop itself."""
    for _ in repeat(None, calls):
        pass


def operations(calls: int) -> None:
    """Open operations as a training script does."""
    for _ in repeat(None, calls):
        with rlscope.operation("inference"):
            pass


def samples(calls: int) -> None:
    """Report samples of rollouts in a task, as an agent loop does."""

    async def rollouts() -> None:
        with rlscope.operation("rollout"):
            for _ in repeat(None, calls):
                rlscope.report_sample("math", version=3, tokens=812)

    asyncio.run(rollouts())


def nvtx_ranges(calls: int) -> None:
    """Open NVTX's ranges instead."""
    for _ in repeat(None, calls):
        with nvtx.annotate("inference"):
            pass


def record_functions(calls: int) -> None:
    """Open PyTorch's annotations instead."""
    for _ in repeat(None, calls):
        with torch.profiler.record_function("inference"):
            pass


class VizTracerEvents:
    """The same with VizTracer's annotation, which needs its tracer."""

    def __init__(self) -> None:
        self.tracer = viztracer.VizTracer(tracer_entries=peers.VIZTRACER_ENTRIES, verbose=0)

    def __call__(self, calls: int) -> None:
        """Log events; whether they are kept depends on whether the tracer has been started."""
        for _ in repeat(None, calls):
            with self.tracer.log_event("inference"):
                pass

    def __enter__(self) -> None:
        self.tracer.start()

    def __exit__(self, *_: object) -> None:
        self.tracer.stop()
        self.tracer.clear()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Keep the tracer stopped. A tracer that was never started would slow down every call of the process."""
        yield
        self.tracer.clear()


def main() -> None:
    """Measure operations recorded, then with nothing recording; then samples, which no peer knows."""
    events = VizTracerEvents()
    recorded: dict[str, tuple[Loop, Recording]] = {
        "rlscope": (operations, peers.rlscope_recording),
        "VizTracer log_event": (events, lambda: events),
        "torch.profiler record_function": (record_functions, peers.torch_profiler),
    }
    found = added_ns(empty, recorded, CALLS, REPEATS)
    print_results(results("operation, recorded", "ns", found.pop("rlscope"), found, RECORDED))

    disabled: dict[str, tuple[Loop, Recording]] = {
        "rlscope": (operations, peers.nothing),
        "nvtx.annotate, no tool attached": (nvtx_ranges, peers.nothing),
        "VizTracer log_event, tracer stopped": (events, events.stopped),
        "torch.profiler record_function, no profiler": (record_functions, peers.nothing),
    }
    found = added_ns(empty, disabled, CALLS, REPEATS)
    print_results(results("operation, nothing recording", "ns", found.pop("rlscope"), found, DISABLED))

    reported = {"recorded": (samples, peers.rlscope_recording), "nothing recording": (samples, peers.nothing)}
    for name, value in added_ns(empty, reported, CALLS, REPEATS).items():
        print_results(results(f"report_sample, {name}", "ns", value))


if __name__ == "__main__":
    main()
