"""Record PPO with VizTracer and print what its page took: `python -m benchmarks.showing.viztracer_page 2048 PAGE`."""

import sys

import viztracer

from benchmarks.analyzing.analyze_once import print_cost
from benchmarks.recording.peers import VIZTRACER_ENTRIES
from benchmarks.recording.workloads import make_agent


def main() -> None:
    """Make the page of the calls that lie in VizTracer's memory; recording them is not part of the cost."""
    timesteps, page = int(sys.argv[1]), sys.argv[2]
    tracer = viztracer.VizTracer(tracer_entries=VIZTRACER_ENTRIES, verbose=0)
    tracer.start()
    make_agent("ppo").learn(timesteps, reset_num_timesteps=False)
    tracer.stop()
    print_cost(lambda: tracer.save(page))


if __name__ == "__main__":
    main()
