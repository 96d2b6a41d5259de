"""Analyze a trace and print what that took: `python -m benchmarks.analyzing.analyze_once DIR`."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import CHECKOUT


@dataclass(frozen=True)
class Cost:
    """This is what an analysis took.

    Attributes:
        elapsed_ns: from disk to table, without starting Python and importing libraries.
        peak_bytes: memory of the whole process, Python and libraries included.
        added_bytes: of these, what the analysis added to the imported libraries.
    """

    elapsed_ns: int
    peak_bytes: int
    added_bytes: int


def cost_of_analysis(trace: Path) -> Cost:
    """Analyze in a fresh process."""
    return cost_of_module("benchmarks.analyzing.analyze_once", str(trace))


def cost_of_module(module: str, *arguments: str) -> Cost:
    """Run a module whose last act is `print_cost`."""
    command = [sys.executable, "-m", module, *arguments]
    finished = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return Cost(**json.loads(finished.stdout.splitlines()[-1]))


def print_cost(analyze: Callable[[], object]) -> None:
    """Call `analyze` and print its cost as JSON."""
    imported_bytes = _peak_bytes()
    started_ns = time.perf_counter_ns()
    analyze()
    elapsed_ns = time.perf_counter_ns() - started_ns
    peak_bytes = _peak_bytes()
    print(json.dumps(asdict(Cost(elapsed_ns, peak_bytes, peak_bytes - imported_bytes))))


def _peak_bytes() -> int:
    """Return the kernel's VmHWM; wait4's ru_maxrss begins with the size of the process that forked this one."""
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak is not None
    return int(peak[1]) * 1024


def main() -> None:
    """Analyze a trace as `rlscope analyze` does, from opening it to its tables."""
    from rlscope.analysis.analysis import analyze
    from rlscope.trace.reader import open_trace

    print_cost(lambda: analyze(open_trace(sys.argv[1])))


if __name__ == "__main__":
    main()
