"""What the driver reports of one, two and eight processes that share a device, beside how busy it is: processes.csv.

python -m tests.gpu.processes OUTPUT
"""

import subprocess
import sys
from pathlib import Path

import pandas as pd

from rlscope.analysis.analysis import analyze
from rlscope.trace.reader import open_trace

PROGRAM = Path(__file__).parent / "programs" / "many_processes.py"
PROCESSES = (1, 2, 8)
REPETITIONS = 3


def shares(trace: Path, processes: int) -> dict[str, float]:
    """The medians of `reported` and `busy` over the parts of the run in which the device worked."""
    record = [sys.executable, "-m", "rlscope", "record", "--no-auto", "--force", "-o", str(trace), "--"]
    subprocess.run([*record, sys.executable, str(PROGRAM), str(processes)], check=True)
    parts = analyze(open_trace(trace)).device_timeline.table
    working = parts.loc[parts["busy"] > 0, ["reported", "busy"]].median()
    return {"processes": processes, "reported": float(working["reported"]), "busy": float(working["busy"])}


def main() -> None:
    """Records every number of processes several times, and keeps the shares."""
    output = Path(sys.argv[1])
    rows = [
        {"repetition": repetition} | shares(output / "traces" / f"{processes}_{repetition}", processes)
        for repetition in range(REPETITIONS)
        for processes in PROCESSES
    ]
    table = pd.DataFrame(rows)
    table.to_csv(output / "processes.csv", index=False, float_format="%.5f")
    print(table.to_string())


if __name__ == "__main__":
    main()
