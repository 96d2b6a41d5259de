"""Write the slices of a trace and print what that took: `python -m benchmarks.exporting.export_once DIR FORMAT OUT`."""

import sys
from pathlib import Path

from benchmarks.analyzing.analyze_once import print_cost
from rlscope.cli.export import PARTS, write_target
from rlscope.export.run import export_run
from rlscope.trace.reader import open_trace


def main() -> None:
    """Write the file; the sweep before it, which is measured as the analysis, is not part of the cost."""
    trace, target, output = sys.argv[1:]
    run = export_run(open_trace(Path(trace)), None, recover=False, bins=PARTS)
    print_cost(lambda: write_target(run, target, Path(output)))


if __name__ == "__main__":
    main()
