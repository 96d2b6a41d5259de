"""This file measures the speed, memory and bytes of `rlscope export` on synthetic traces of 1e6 and 1e7 events."""

import shutil
import tempfile
from pathlib import Path

from benchmarks import OUTPUT
from benchmarks.analyzing.analyze_once import Cost, cost_of_module
from benchmarks.result import Target, Value, print_results, results
from benchmarks.synthetic import write_trace
from benchmarks.timing import median

REPEATS = 3
SIZES = (1_000_000, 10_000_000)
#: In million events a second, and in bytes per event where that is one.
TARGETS = {"perfetto": (15.0, 31.0), "chrome": (2.0, None), "parquet": (5.0, None)}


def measured(trace: Path, target: str, output: Path) -> tuple[Cost, int]:
    """Write the file in a fresh process; return what that took, and the bytes of its slices."""
    shutil.rmtree(output, ignore_errors=True)
    output.unlink(missing_ok=True)
    cost = cost_of_module("benchmarks.exporting.export_once", str(trace), target, str(output))
    slices = output / "events.parquet" if output.is_dir() else output
    return cost, slices.stat().st_size


def main() -> None:
    """Measure each format on each trace."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    for events in SIZES:
        with tempfile.TemporaryDirectory(dir=OUTPUT) as directory:
            trace, output = Path(directory, "trace"), Path(directory, "out")
            known = write_trace(trace, events)
            for target, (speed, most_bytes) in TARGETS.items():
                found = [measured(trace, target, output) for _ in range(REPEATS)]
                note = f"{known.events:,} events, writing alone"
                rates = [known.events / cost.elapsed_ns * 1000 for cost, _ in found]
                print_results(
                    results(
                        f"export {target}, speed", "M events/s", median(rates), target=Target(speed, False), note=note
                    )
                )
                size = Value(found[0][1] / known.events)
                limit = None if most_bytes is None else Target(most_bytes)
                print_results(results(f"export {target}, size", "B/event", size, target=limit, note=note))
                memory = median([cost.peak_bytes / 2**20 for cost, _ in found])
                print_results(results(f"export {target}, memory", "MiB", memory, note=note))


if __name__ == "__main__":
    main()
