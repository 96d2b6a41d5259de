"""Record a long training, watch the memory of the recorder, and check that the trace is whole.

    python scripts/soak.py --minutes 60 --output output/soak

Writes memory.csv (one row per sample) and prints a summary; exits 1 if something was lost or does not add up.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

TRAINING = Path(__file__).resolve().parent.parent / "tests" / "scripts" / "train_for.py"
RLSCOPE = (sys.executable, "-m", "rlscope")
SAMPLE_EVERY_S = 10
MIB = 2**20
LARGEST_GAP = 1e-6


def memory_of(process: psutil.Process, trace: Path) -> dict[str, int]:
    """Return the bytes of the program's own memory, and of the trace's chunks that are mapped into it now."""
    maps = process.memory_maps(grouped=False)
    chunks = [mapped for mapped in maps if mapped.path.startswith(str(trace))]
    return {
        "anonymous": sum(mapped.anonymous for mapped in maps if mapped not in chunks),
        "mapped_trace": sum(mapped.rss for mapped in chunks),
        "mapped_chunks": len(chunks),
        "trace_file": sum(path.stat().st_size for path in trace.glob("*.rlscope")),
        "open_files": process.num_fds(),
    }


def samples(recording: subprocess.Popen[bytes], trace: Path) -> Iterator[dict[str, Any]]:
    """Yield memory of the recorded program, every ten seconds until it ends."""
    started = time.monotonic()
    while recording.poll() is None:
        time.sleep(SAMPLE_EVERY_S)
        try:
            program = next(iter(psutil.Process(recording.pid).children()), None)
            if program is not None:
                yield {"seconds": round(time.monotonic() - started, 1), **memory_of(program, trace)}
        except psutil.NoSuchProcess:
            return


def analyzed(trace: Path) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the analysis of the trace, and what it cost."""
    started = time.monotonic()
    with subprocess.Popen([*RLSCOPE, "analyze", str(trace), "--json"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"soak: analyze ended with {process.returncode}")
    return json.loads(text), {"seconds": time.monotonic() - started, "peak_mib": usage.ru_maxrss / 1024}


def largest_gap(analysis: dict[str, Any]) -> float:
    """Return the largest relative difference between a process's breakdown and its wall time."""
    gaps = []
    for process in analysis["processes"]:
        total = sum(row["seconds"] for row in analysis["breakdown"] if row["process"] == process["process"])
        gaps.append(abs(total - process["wall_s"]) / process["wall_s"])
    return max(gaps)


def soak(minutes: float, output: Path) -> bool:
    """Record, analyze, print. Return whether everything held."""
    output.mkdir(parents=True)
    trace = output.resolve() / "trace"
    command = [*RLSCOPE, "record", "-o", str(trace), "--", sys.executable, str(TRAINING), str(minutes * 60)]
    with (output / "memory.csv").open("w", newline="") as file, subprocess.Popen(command) as recording:
        writer = None
        rows = []
        for row in samples(recording, trace):
            writer = writer or csv.DictWriter(file, row)
            if not rows:
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            rows.append(row)
    contents = json.loads(subprocess.check_output([*RLSCOPE, "inspect", str(trace), "--json"]))
    analysis, cost = analyzed(trace)
    gap, dropped = largest_gap(analysis), contents["dropped_records"]
    settled = rows[len(rows) // 6 :]
    for name in ("anonymous", "mapped_trace"):
        values = [row[name] / MIB for row in settled]
        print(f"{name}: {values[0]:.2f} MiB after a sixth, {values[-1]:.2f} at the end, at most {max(values):.2f}")
    print(f"mapped chunks: at most {max(row['mapped_chunks'] for row in rows)}; open files: {rows[-1]['open_files']}")
    print(f"events: {contents['events']}, {contents['bytes_per_event']:.2f} bytes each, dropped {dropped}")
    print(f"sum of the breakdown and wall differ by {gap:.1e} of wall")
    print(f"analyze: {cost['seconds']:.1f} s, at most {cost['peak_mib']:.0f} MiB")
    return recording.returncode == 0 and contents["complete"] and dropped == 0 and gap <= LARGEST_GAP


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--output", type=Path, default=Path("output/soak"))
    arguments = parser.parse_args()
    sys.exit(0 if soak(arguments.minutes, arguments.output) else 1)
