"""This file measures the speed and memory of the analysis, from the files to the tables."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import OUTPUT
from benchmarks.analyzing.analyze_once import Cost, cost_of_analysis, cost_of_module
from benchmarks.analyzing.chrome_trace import write_chrome_trace
from benchmarks.result import Target, Value, print_results, results
from benchmarks.synthetic import Shape, write_trace
from benchmarks.timing import median

MIB = 1 << 20
EVENTS = 10_000_000
MANY_EVENTS = 100_000_000
PEER_EVENTS = 100_000
REPEATS = 7
FEW_REPEATS = 3
SHAPES = {
    "1 thread": (Shape(), Target(100, is_ceiling=False)),
    "4 threads, turns of 5 ms": (Shape(4), Target(25, is_ceiling=False)),
    "4 threads, call by call": (Shape(4, turn=None), Target(40, is_ceiling=False)),
    "16 threads, turns of 5 ms": (Shape(16), None),
    "16 threads, call by call": (Shape(16, turn=None), None),
}
MEMORY = Target(60)
NO_PERFETTO = "perfetto's trace_processor: not measured, no package holds its binary"


@dataclass(frozen=True)
class Costs:
    """Millions of events per second; MiB of the whole process; MiB beyond Python and the libraries."""

    speed: Value
    peak: Value
    added: Value


def repeated(once: Callable[[], Cost], events: int, repeats: int) -> Costs:
    """Return the costs of several analyses of the same trace."""
    costs = [once() for _ in range(repeats)]
    return Costs(
        speed=median([events / cost.elapsed_ns * 1e3 for cost in costs]),
        peak=median([cost.peak_bytes / MIB for cost in costs]),
        added=median([cost.added_bytes / MIB for cost in costs]),
    )


def main() -> None:
    """Analyze synthetic traces; each analysis is a process of its own and read files that lie in the page cache."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUTPUT) as directory:
        chrome = Path(directory) / "chrome"
        peer_events = write_chrome_trace(chrome, PEER_EVENTS)
        peer = repeated(lambda: cost_of_module("benchmarks.analyzing.hta_once", str(chrome)), peer_events, FEW_REPEATS)
        name = f"HolisticTraceAnalysis, {peer_events:,} events"
        trace = Path(directory) / "trace"
        for threads, (shape, target) in SHAPES.items():
            events = write_trace(trace, EVENTS, shape).events
            own = repeated(lambda: cost_of_analysis(trace), events, REPEATS)
            shutil.rmtree(trace)
            note = f"{events:,} events"
            print_results(results(f"analysis, {threads}", "M events/s", own.speed, {name: peer.speed}, target, note))
            if shape == Shape():
                print_memory("1e7", own, peer, name, NO_PERFETTO)
        events = write_trace(trace, MANY_EVENTS).events
        own = repeated(lambda: cost_of_analysis(trace), events, FEW_REPEATS)
        note = f"{events:,} events"
        print_results(results("analysis, 1 thread, 1e8 events", "M events/s", own.speed, {name: peer.speed}, note=note))
        print_memory("1e8", own, peer, name, None)


def print_memory(events: str, own: Costs, peer: Costs, name: str, note: str | None) -> None:
    """Print the two views of memory."""
    print_results(results(f"peak memory, {events} events", "MiB", own.peak, {name: peer.peak}, MEMORY, note))
    print_results(
        results(f"memory beyond the libraries, {events} events", "MiB", own.added, {name: peer.added}, note=note)
    )


if __name__ == "__main__":
    main()
