"""Run HolisticTraceAnalysis on a directory of Chrome traces: `python -m benchmarks.analyzing.hta_once DIR`."""

import sys

from hta.trace_analysis import TraceAnalysis

from benchmarks.analyzing.analyze_once import print_cost


def main() -> None:
    """Load the trace and make the one breakdown that it has, of GPU time."""
    print_cost(lambda: TraceAnalysis(trace_dir=sys.argv[1]).get_temporal_breakdown(visualize=False))


if __name__ == "__main__":
    main()
