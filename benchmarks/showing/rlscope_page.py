"""Make the page of a trace and print what that took: `python -m benchmarks.showing.rlscope_page DIR PAGE`."""

import sys
from pathlib import Path

from benchmarks.analyzing.analyze_once import print_cost
from rlscope.page.grid import bins_for
from rlscope.page.make_page import Run, make_page
from rlscope.report.page_run import page_run
from rlscope.trace.reader import open_trace


def run_of(path: Path) -> Run:
    """Analyze a trace as `rlscope report` does, without correction."""
    trace = open_trace(path)
    return page_run(path.name, trace, bins_for(len(trace.processes)), False, "nothing was calibrated")


def main() -> None:
    """Do what `rlscope report DIR -o PAGE` does, from opening the trace to the written page."""
    trace, path = Path(sys.argv[1]), Path(sys.argv[2])
    print_cost(lambda: path.write_text(make_page([run_of(trace)])))


if __name__ == "__main__":
    main()
