"""Whether the waits for the device of a loop are found, and in their lines, beside the loop's own stopwatch.

    python -m tests.gpu.syncs OUTPUT

Leaves syncs.json in OUTPUT, in a minute. Ends with status 1 where a count or a line is not the loop's.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.gpu.programs.syncing_loop import known_lines
from tests.gpu.recorded_program import beside_analysis

PROGRAM = Path(__file__).parent / "programs" / "syncing_loop.py"
ITERATIONS = 150
#: Of each line that asks, the stage or operation that it is in.
PLACES = {
    "any_done": ("simulation", "item"),
    "loss_item": ("backpropagation", "item"),
    "rewards_cpu": ("logging", "cpu"),
    "synchronize": ("logging", "cudaDeviceSynchronize"),
}


def found_of(analysis: dict[str, Any], name: str) -> dict[str, Any]:
    """Sum the synchronisation points of a line: what its call of a native function did may be several CUDA calls."""
    operation, function = PLACES[name]
    points = [
        row
        for row in analysis["sync_points"]
        if row["operation"] == operation and (row["function"] or row["wait"]).rpartition(".")[2] == function
    ]
    mostly = max(points, key=lambda row: row["seconds"], default={"line": 0, "line_stacks": 0, "stacks": 0})
    return {
        "count": sum(row["count"] for row in points),
        "seconds": sum(row["seconds"] for row in points),
        **{column: mostly[column] for column in ("line", "line_stacks", "stacks")},
    }


def main() -> None:
    """Compare each line with what was found of it."""
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    watched, analysis = beside_analysis(output / "traces" / "syncs", (PROGRAM, ITERATIONS), ("--lines",))
    rows, wrong = {}, []
    for name, line in known_lines().items():
        found = found_of(analysis, name)
        rows[name] = {"line": line, "count": watched[name][0], "seconds": watched[name][1], "found": found}
        if found["count"] != watched[name][0] or found["line"] != line:
            wrong.append(name)
    others = [row for row in analysis["sync_points"] if row["operation"] not in {place[0] for place in PLACES.values()}]
    result = {"command": "python -m tests.gpu.syncs OUTPUT", "iterations": ITERATIONS, "lines": rows, "others": others}
    (output / "syncs.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))
    if wrong:
        raise SystemExit(f"the counts and lines of the loop were expected, but those of {', '.join(wrong)} differ")


if __name__ == "__main__":
    main()
