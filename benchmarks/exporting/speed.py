"""This file measures the speed, memory and bytes of `rlscope export` on synthetic traces of 1e6 and 1e7 events."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks import OUTPUT
from benchmarks.analyzing.analyze_once import Cost, cost_of_module
from benchmarks.result import Target, Value, print_results, results
from benchmarks.synthetic import write_trace
from benchmarks.timing import median

REPEATS = 3
SIZES = (1_000_000, 10_000_000)


@dataclass(frozen=True)
class Format:
    """This is a kind of file, and what is expected of it.

    Attributes:
        name: what it is called in results.
        target: what `--to` calls it.
        file: the name of the file or folder.
        least_speed: in million events a second; None where nothing is expected.
        most_bytes: per event.
    """

    name: str
    target: str
    file: str
    least_speed: float | None = None
    most_bytes: float | None = None


FORMATS = (
    Format("perfetto", "perfetto", "out.pftrace", 15.0, 30.0),
    Format("perfetto, compressed", "perfetto", "out.pftrace.gz", None, 7.5),
    Format("chrome", "chrome", "out.json", 2.0),
    Format("parquet", "parquet", "tables", 5.0),
    Format("arrow", "parquet", "out.arrow"),
)


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
            trace = Path(directory, "trace")
            known = write_trace(trace, events)
            for of in FORMATS:
                output = Path(directory, of.file)
                found = [measured(trace, of.target, output) for _ in range(REPEATS)]
                note = f"{known.events:,} events, writing alone"
                rates = [known.events / cost.elapsed_ns * 1000 for cost, _ in found]
                least = None if of.least_speed is None else Target(of.least_speed, is_ceiling=False)
                speed = median(rates)
                print_results(results(f"export {of.name}, speed", "M events/s", speed, target=least, note=note))
                size = Value(found[0][1] / known.events)
                most = None if of.most_bytes is None else Target(of.most_bytes)
                print_results(results(f"export {of.name}, size", "B/event", size, target=most, note=note))
                memory = median([cost.peak_bytes / 2**20 for cost, _ in found])
                print_results(results(f"export {of.name}, memory", "MiB", memory, note=note))


if __name__ == "__main__":
    main()
