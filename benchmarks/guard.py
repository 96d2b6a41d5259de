"""Compare instructions and bytes per event for a fixed input with those kept in guard.json.

Times differ from run to run and from machine to machine; these numbers do not, so that CI can compare them.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import CHECKOUT
from benchmarks.synthetic import Shape, write_trace

KEPT = Path(__file__).with_name("guard.json")
BUILD = CHECKOUT / "build" / "guard"
DRIVER = BUILD / "guard"
EVENTS = 300_000
#: As guard.cpp makes.
CALLS_BETWEEN = 100_000

# What the same compiler makes of the same source is the same; code that is not ours (libc) may differ a little.
SAME_COMPILER_PERCENT = 3
# Against GCC 12, GCC 11 made -2 to +3 % of the same source and Clang 14 +2 to +25 %: only more than that says anything.
OTHER_COMPILER_PERCENT = 30
BYTES_PERCENT = 0.1


@dataclass(frozen=True)
class Guarded:
    """The values to keep.

    Attributes:
        compiler: what the instructions were made by.
        sweep_1_thread: instructions per event of analyzing a process of one thread.
        sweep_4_threads: the same of four threads whose records alternate.
        sweep_device: the same of one thread with a device, which runs a kernel per 41 events.
        idle_device: of sweeping that process a second time, as is done where processes share a device.
        detail_1_thread: the same of one thread with the detail that a page shows, in 2,000 bins.
        record: instructions per event (a begin and an end) of recording.
        between: instructions per call between two windows of a running job, where nothing is recorded.
        bytes: of the recorded file per event.
    """

    compiler: str
    sweep_1_thread: float
    sweep_4_threads: float
    sweep_device: float
    idle_device: float
    detail_1_thread: float
    record: float
    between: float
    bytes: float


def build() -> None:
    """Build the driver."""
    source = str(CHECKOUT / "benchmarks" / "native")
    configure = ["cmake", "-S", source, "-B", str(BUILD), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    subprocess.run(configure, stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["cmake", "--build", str(BUILD)], stdout=subprocess.DEVNULL, check=True)


def measure() -> Guarded:
    """Count with callgrind."""
    compiler = subprocess.run([DRIVER, "compiler"], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as directory:
        one, four, device, recorded = (Path(directory) / name for name in ("one", "four", "device", "recorded"))
        recorded.mkdir()
        events_of_one = write_trace(one, EVENTS).events
        events_of_four = write_trace(four, EVENTS, Shape(threads=4, turn=None)).events
        events_of_device = write_trace(device, EVENTS, Shape(kernels=1)).events
        record = instructions("measured_record", "record", one / "1-0.rlscope", recorded)
        (recorded_file,) = recorded.iterdir()
        return Guarded(
            compiler=compiler,
            sweep_1_thread=instructions("measured_sweep", "sweep", one / "1-0.rlscope") / events_of_one,
            sweep_4_threads=instructions("measured_sweep", "sweep", four / "1-0.rlscope") / events_of_four,
            sweep_device=instructions("measured_sweep", "sweep", device / "1-0.rlscope") / events_of_device,
            idle_device=instructions("measured_idle", "idle", device / "1-0.rlscope") / events_of_device,
            detail_1_thread=instructions("measured_detail", "detail", one / "1-0.rlscope") / events_of_one,
            record=record / events_of_one,
            between=instructions("measured_between", "between") / CALLS_BETWEEN,
            bytes=recorded_file.stat().st_size / events_of_one,
        )


def instructions(function: str, *arguments: str | Path) -> int:
    """Return instructions that a run of the driver executes inside one function."""
    callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect={function}"]
    finished = subprocess.run([*callgrind, DRIVER, *arguments], capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", finished.stderr)
    if finished.returncode != 0 or collected is None:
        raise RuntimeError(f"valgrind was expected to count {function}; it printed:\n{finished.stderr}")
    return int(collected[1])


def compare(found: Guarded, kept: Guarded) -> tuple[str, bool]:
    """Return a table of what was found and what was kept, and whether all of it is within the tolerance."""
    is_same = found.compiler == kept.compiler
    rows = [["value", "kept", "found", "difference", "tolerance", ""]]
    is_fine = True
    for name, value in asdict(found).items():
        if name == "compiler":
            continue
        before = getattr(kept, name)
        percent = 100 * (value / before - 1)
        allowed = BYTES_PERCENT if name == "bytes" else SAME_COMPILER_PERCENT if is_same else OTHER_COMPILER_PERCENT
        is_within = abs(percent) <= allowed
        is_fine &= is_within
        rows.append(
            [name, f"{before:.3f}", f"{value:.3f}", f"{percent:+.2f} %", f"{allowed} %", "" if is_within else "DIFFERS"]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(0, f"per event, compiled with {found.compiler} (kept: {kept.compiler})")
    return "\n".join(lines), is_fine


def main() -> int:
    """Return 1 where a value differs from the one that was kept, in either direction."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--update", action="store_true", help="keep the values of this run")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("guard: valgrind was expected on PATH, but there is none; apt-get install valgrind", file=sys.stderr)
        return 2
    build()
    found = measure()
    if arguments.update:
        KEPT.write_text(json.dumps(asdict(found), indent=2) + "\n")
        print(f"wrote {KEPT}")
    text, is_fine = compare(found, Guarded(**json.loads(KEPT.read_text())))
    print(text)
    if not is_fine:
        print("guard: a cost has changed. If that is meant, keep the new values with `make guard UPDATE=1`")
    return int(not is_fine)


if __name__ == "__main__":
    sys.exit(main())
