"""This file measures the bytes on disk per event of a real training."""

import shutil
import sys
from pathlib import Path

import viztracer

import rlscope
from benchmarks import OUTPUT
from benchmarks.recording import peers
from benchmarks.recording.workloads import make_agent, train_block
from benchmarks.result import Target, Value, print_results, results
from rlscope.analysis.contents import read_contents
from rlscope.trace.reader import open_trace

BLOCKS = {"ppo": 5, "td3": 10}
VIZTRACER_ENTRIES = 200_000
TARGET = Target(4)
#: A complete event of Chrome's format, as the peers write it.
COMPLETE_EVENTS = (b'"ph": "X"', b'"ph":"X"')


def rlscope_size(directory: Path) -> tuple[Value, int]:
    """Return the bytes per event of a trace, which is then deleted, and the number of events."""
    contents = read_contents(open_trace(directory))
    shutil.rmtree(directory)
    return Value(contents.bytes / contents.events), contents.events


def json_size(path: Path) -> Value:
    """Return the bytes per event of a Chrome trace, which is then deleted."""
    content = path.read_bytes()
    path.unlink()
    return Value(len(content) / sum(content.count(event) for event in COMPLETE_EVENTS))


def main() -> None:
    """Record the algorithm that the command line names with rlscope, then a block of it with each peer."""
    algorithm = sys.argv[1]
    OUTPUT.mkdir(parents=True, exist_ok=True)
    trace, chrome_trace = OUTPUT / "size_trace", OUTPUT / "size_trace.json"
    shutil.rmtree(trace, ignore_errors=True)
    agent = make_agent(algorithm)
    with rlscope.profile(output=trace):
        train_block(agent, algorithm, BLOCKS[algorithm])
    size, events = rlscope_size(trace)

    with peers.torch_profiler() as profiler:
        train_block(agent, algorithm)
    profiler.export_chrome_trace(str(chrome_trace))
    found = {"torch.profiler, Chrome JSON": json_size(chrome_trace)}
    with viztracer.VizTracer(tracer_entries=VIZTRACER_ENTRIES, verbose=0, output_file=str(chrome_trace)):
        train_block(agent, algorithm)
    found["VizTracer, Chrome JSON"] = json_size(chrome_trace)
    print_results(results(f"trace of {algorithm.upper()}", "B/event", size, found, TARGET, f"{events:,} events"))


if __name__ == "__main__":
    main()
