"""A search that calls itself from two lines has a new stack at each look: what is kept has a bound, and is told."""

import json
import re
from pathlib import Path

from recording import record, rlscope

#: Entries of the catalog for as many stacks as there can be, and a megabyte for all else.
MOST_BYTES = ((1 << 18) + (1 << 16) + 1) * 20 + (1 << 20)
SEARCH = """
import sys, time
sys.setrecursionlimit(10_000)
def search(depth, path):
    if depth == 0:
        return sum(range(50))
    if path >> depth % 60 & 1:
        return search(depth - 1, path * 3 + 1)
    return search(depth - 1, path * 5 + 7)
path = 1
while time.process_time() < 6:
    path = path * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
    search(400, path)
"""


def test_a_search_that_calls_itself_from_two_lines(tmp_path: Path) -> None:
    (tmp_path / "search.py").write_text(SEARCH)
    recording = record(tmp_path / "trace", tmp_path / "search.py", options=("--lines",))
    (file,) = recording.files
    inspected = json.loads(rlscope("inspect", recording.trace, "--json").stdout)
    (process,) = inspected["processes"]
    assert process["cut_stacks"] > 0 and inspected["complete"]
    assert f"{process['cut_stacks']:,} stacks" in re.sub(r"\s*\n\W*", " ", rlscope("inspect", recording.trace).stdout)
    assert file.stat().st_size < MOST_BYTES
    lines = rlscope("analyze", recording.trace, "--json").stdout
    in_search = [row for row in json.loads(lines)["lines"] if row["function"] == "search"]
    assert sum(row["stacks"] for row in in_search) > process["cut_stacks"] / 2, "the innermost line is known of each"
