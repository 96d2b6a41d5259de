"""This file measures what looking at Python's lines costs PPO, beside other profilers that know lines.

rlscope: three processes train in turns, as in `slowdown`: not recorded, recorded, and recorded with `--lines`. First
the clock on the wall measures them, then the processor time of the process, in which that of the thread that looks at
stacks is contained. They have two processors, so that this thread may have its own. Peers are measured as in
`slowdown`, in pairs of blocks of one process.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import CHECKOUT, OUTPUT
from benchmarks.recording import peers
from benchmarks.recording.line_tracer import NAME, line_tracer
from benchmarks.recording.slowdown import Slowdown, blocks_of_twins, slowdown_of_blocks
from benchmarks.recording.workloads import blocks_of
from benchmarks.result import Result, Target, Value, print_results, results
from benchmarks.timing import Recording, median
from rlscope.calibration.twins import Clock, Twin
from rlscope.record.config import LINES_HZ, RecordConfig

TWINS = {"plain": Twin(), "recorded": Twin(RecordConfig()), "lines": Twin(RecordConfig(stacks_hz=LINES_HZ))}
TWINS_S = 70
#: Per cent that lines may add to PPO, and below which they would be recorded without being asked for.
MOST_ADDED, BY_DEFAULT = Target(1), 0.5
PEERS: dict[str, Recording] = {
    "pyinstrument (1000 Hz)": peers.pyinstrument_recording,
    "py-spy (1000 Hz)": peers.py_spy,
    NAME: line_tracer,
}


def slowdown_by_scalene() -> Slowdown:
    """Return what Scalene does to blocks of PPO, in a process that it has started and in which it is on or off."""
    options = "--cpu-only --off --profile-all --profile-system-libraries --outfile lines.json".split()
    command = [sys.executable, "-m", "scalene", "run", *options, "-m", "benchmarks.recording.under_scalene"]
    with tempfile.TemporaryDirectory(dir=OUTPUT) as directory:
        environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
        finished = subprocess.run(
            command, cwd=directory, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        if not json.loads(Path(directory, "lines.json").read_text())["files"]:
            raise RuntimeError(f"Scalene was expected to know lines of PPO, and knows none: {finished.stdout}")
    found = json.loads(next(line for line in finished.stdout.splitlines() if line.startswith("{")))
    return Slowdown(**{name: Value(**value) for name, value in found.items()})


def slowdown_by_lines(times: str, clock: Clock, others: dict[str, Value]) -> Iterator[Result]:
    """Measure rlscope's twins by a clock: with lines beside the others, without, and the difference."""
    # What looks at stacks works beside the program, as a device does.
    lengths_ns = blocks_of_twins("ppo", TWINS, TWINS_S, has_device=True, clock=clock)
    plain, recorded, lines = (lengths_ns[name] for name in TWINS)
    note = f"{len(plain)} blocks of each"
    yield from results(f"PPO with lines, {times}", "x", median((lines / plain).tolist()), others, None, note)
    yield from results(f"PPO without lines, {times}", "x", median((recorded / plain).tolist()), None, None, note)
    added = median((100 * (lines - recorded) / plain).tolist())
    note += f"; below {BY_DEFAULT} % lines would be recorded by default"
    yield from results(f"added to PPO by lines, {times}", "%", added, None, MOST_ADDED, note)


def main() -> None:
    """Measure the peers, then rlscope by both clocks."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    train = blocks_of("ppo")
    found = {peer: slowdown_of_blocks(train, recording) for peer, recording in PEERS.items()}
    found["Scalene, CPU (100 Hz)"] = slowdown_by_scalene()
    wall, cpu = ({peer: getattr(each, kind) for peer, each in found.items()} for kind in ("wall", "cpu"))
    print_results(slowdown_by_lines("wall time", time.perf_counter_ns, wall))
    print_results(slowdown_by_lines("CPU time", time.process_time_ns, cpu))


if __name__ == "__main__":
    main()
