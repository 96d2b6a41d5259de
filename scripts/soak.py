"""Record programs whose threads and processes come and go, for a long time, and see that nothing of the recorder grows.

    python scripts/soak.py --minutes 60 --output output/soak

One program is recorded whole, one as a flight recorder does, both with the stacks of their lines. Writes soak.csv (one
row per sample and program) and soak.png, and prints a summary; exits 1 if something was lost, does not add up, or grew.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import psutil

PROGRAM = Path(__file__).resolve().parent.parent / "tests" / "scripts" / "churn.py"
RLSCOPE = (sys.executable, "-m", "rlscope")
KEPT_MB = 20
OPTIONS = {"whole": ("--lines",), "kept": ("--lines", "--keep", f"{KEPT_MB}MB")}
SAMPLE_EVERY_S = 10
THREADS_PER_SECOND = 6
MIB = 2**20
LARGEST_GAP = 1e-6
#: A value has grown where its mean over the last quarter exceeds that over the third by more than these. Until then the
#: table of stacks of the whole recording fills up to its bound, for each iteration has new ones.
GREW = {"program_mib": 1.0, "record_mib": 1.0, "program_files": 0.5, "record_files": 0.5}


def sample(recording: psutil.Popen, trace: Path) -> dict[str, float] | None:
    """Return memory and open files of `rlscope record` and its program, and what lies in the trace; None at the end."""
    with suppress(psutil.NoSuchProcess, IndexError, FileNotFoundError):
        program = recording.children()[0]
        mapped = program.memory_maps(grouped=False)
        anonymous = sum(each.anonymous for each in mapped if not each.path.startswith(str(trace)))
        files = [path for path in trace.rglob("*") if path.is_file()]
        return {
            "program_mib": anonymous / MIB,
            "record_mib": recording.memory_full_info().uss / MIB,
            "program_files": program.num_fds(),
            "record_files": recording.num_fds(),
            "program_threads": program.num_threads(),
            "trace_files": len(files),
            "trace_mib": sum(path.stat().st_size for path in files) / MIB,
            "main_file_mib": sum(p.stat().st_size for p in trace.glob(f"{program.pid}-*.rlscope")) / MIB,
        }
    return None


def samples(recordings: dict[str, psutil.Popen], output: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each program every ten seconds, until one has ended."""
    started_s = time.monotonic()
    while all(recording.poll() is None for recording in recordings.values()):
        time.sleep(SAMPLE_EVERY_S)
        for name, recording in recordings.items():
            if row := sample(recording, output / name):
                yield {"minutes": (time.monotonic() - started_s) / 60, "recording": name, **row}


def document(*words: object) -> dict[str, Any]:
    """Return the JSON that a verb prints."""
    found: dict[str, Any] = json.loads(subprocess.check_output([*RLSCOPE, *map(str, words), "--json"]))
    return found


def largest_gap(analysis: dict[str, Any]) -> float:
    """Return the largest relative difference between a process's breakdown and its wall time."""
    gaps = []
    for process in analysis["processes"]:
        total = sum(row["seconds"] for row in analysis["breakdown"] if row["process"] == process["process"])
        gaps.append(abs(total - process["wall_s"]) / max(process["wall_s"], 1e-9))
    return max(gaps)


def what_grew(table: pd.DataFrame) -> list[str]:
    """Return a sentence for each value that is larger in the last quarter than in the third."""
    found = []
    for name, rows in table.groupby("recording"):
        parts = pd.cut(rows["minutes"], 4, labels=False)
        for value, allowed in GREW.items():
            before, after = (rows.loc[parts == part, value].mean() for part in (2, 3))
            if after - before > allowed:
                found.append(f"{name}: {value} was {before:.2f} in the third quarter and {after:.2f} in the last")
    return found


def draw(table: pd.DataFrame, path: Path) -> None:
    """Draw what was sampled over time."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    shown = {
        "program_mib": "memory of the program, MiB", "record_mib": "memory of rlscope record, MiB",
        "program_files": "open files of the program", "record_files": "open files of rlscope record",
        "trace_files": "files of the trace", "trace_mib": "trace, MiB",
    }  # fmt: skip
    figure, axes = plt.subplots(2, 3, figsize=(10, 5), sharex=True, layout="constrained")
    for axis, (value, title) in zip(axes.flat, shown.items(), strict=True):
        for name, rows in table.groupby("recording"):
            axis.plot(
                rows["minutes"], rows[value], label={"whole": "recorded whole", "kept": f"the last {KEPT_MB} MB"}[name]
            )
        axis.set_title(title, fontsize=9)
        axis.set_ylim(bottom=0)
    for axis in axes[-1]:
        axis.set_xlabel("minutes")
    axes[0, 0].legend(fontsize=8)
    figure.savefig(path, dpi=150)


def soak(minutes: float, output: Path) -> bool:
    """Record, look, analyze, print. Return whether everything held."""
    output.mkdir(parents=True)
    output = output.resolve()
    program = [sys.executable, str(PROGRAM), str(minutes * 60), str(THREADS_PER_SECOND)]
    recordings = {
        name: psutil.Popen([*RLSCOPE, "record", *options, "-o", output / name, "--", *program], stdout=subprocess.PIPE)
        for name, options in OPTIONS.items()
    }
    table = pd.DataFrame(samples(recordings, output))
    iterations = {name: int(recording.communicate()[0]) for name, recording in recordings.items()}
    table.to_csv(output / "soak.csv", index=False, float_format="%.4g")
    draw(table, output / "soak.png")
    contents = document("inspect", output / "whole")
    main = next(process for process in contents["processes"] if process["role"] == "main")
    windows = sorted((output / "kept").glob("window-*"), key=lambda window: int(window.name.partition("-")[2]))
    incomplete = [window.name for window in windows if not document("inspect", window)["complete"]]
    gap, grew = largest_gap(document("analyze", output / "whole")), what_grew(table)
    growth = table[table["recording"] == "whole"]["main_file_mib"].diff()
    threads, bytes_each = iterations["whole"], main["bytes"] / main["events"]
    print(f"iterations, each with a thread: {iterations}; processes of the whole one: {len(contents['processes'])}")
    print(f"main: {main['events']} events of {threads} threads, {bytes_each:.2f} bytes each with all stacks, of which "
          f"{main['cut_stacks']} were cut")  # fmt: skip
    quarters = [growth.iloc[len(growth) * part // 4 : len(growth) * (part + 1) // 4].mean() for part in range(4)]
    print("main file grew by " + ", ".join(f"{quarter:.3f}" for quarter in quarters) + " MiB a sample, by quarter")
    print(f"whole: complete {contents['complete']}, dropped {contents['dropped_records']}, gap {gap:.1e}")
    print(f"kept: {len(windows)} windows, at most {table[table['recording'] == 'kept']['trace_mib'].max():.1f} MiB; "
          f"incomplete: {incomplete}")  # fmt: skip
    print("grew: " + ("; ".join(grew) or "nothing"))
    ended_well = all(recording.returncode == 0 for recording in recordings.values())
    nothing_lost = contents["complete"] and not contents["dropped_records"] and not incomplete and gap <= LARGEST_GAP
    return ended_well and bool(nothing_lost) and not grew


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--output", type=Path, default=Path("output/soak"))
    arguments = parser.parse_args()
    sys.exit(0 if soak(arguments.minutes, arguments.output) else 1)
