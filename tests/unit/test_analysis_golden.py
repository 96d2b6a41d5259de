"""Worked cases of docs/analysis.md: tests/golden/NAME.trace.txt is swept and compared with NAME.expected.json.

An expected file holds what the sweep finds that the case is about; keys are joined by " / ". Costs are certain in these
cases, so of corrected times it holds one number. Both the C++ sweep and its slow twin must agree with it, however the
records are cut into chunks. Its `tables`, if it has any, are those of the document of `rlscope analyze --json`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from trace_builder import parse_script, sweep_script, write_script
from twin_sweep import as_dicts, sweep_twin

from rlscope.analysis.analysis import analyze
from rlscope.analysis.document import document_of
from rlscope.trace.reader import open_trace

TABLES = (
    "breakdown", "threads", "transitions", "evaluation_transitions", "waits", "tasks", "samples", "cuda_calls",
    "devices", "device_operations", "device_work", "corrected", "outside", "idle", "lines", "sync_points",
    "call_sites", "memory", "messages", "cpu_times", "purposes", "stack_times",
)  # fmt: skip
GOLDEN = Path(__file__).parent.parent / "golden"
CASES = sorted(path.name.removesuffix(".trace.txt") for path in GOLDEN.glob("*.trace.txt"))


def short(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without what most rows lack: where a thread without a core would run, and the stage around a callback."""
    *row, ready_in, outer_stage = key
    return (*row, ready_in, outer_stage) if outer_stage else (*row, ready_in) if ready_in else tuple(row)


def joined(tables: dict[str, Any]) -> dict[str, Any]:
    """With table keys as in the expected files."""
    expected = {row: bounds[1] for row, bounds in tables["corrected"].items()}
    phases = [list(row) for row in tables["phases"]]
    tables = tables | {"corrected": expected, "uncorrectable": tables["uncorrectable"][1], "phases": phases}
    tables |= {name: [list(row) for row in tables[name]] for name in ("sample_tails", "collectives")}
    for name in ("breakdown", "threads", "corrected"):
        tables[name] = {short(key): value for key, value in tables[name].items()}
    tables["memory_series"] = {
        " / ".join(map(str, place)): [peak, [list(point) for point in points]]
        for place, (peak, points) in tables["memory_series"].items()
    }
    return {
        name: {
            " / ".join(map(str, key)) if isinstance(key, tuple) else str(key): list(v) if isinstance(v, tuple) else v
            for key, v in table.items()
        }
        if name in TABLES
        else table
        for name, table in tables.items()
    }


@pytest.mark.parametrize("entries_per_chunk", [1, 3, 1000])
@pytest.mark.parametrize("case", CASES)
def test_case(case: str, entries_per_chunk: int, tmp_path: Path) -> None:
    script = parse_script((GOLDEN / f"{case}.trace.txt").read_text())
    expected = json.loads((GOLDEN / f"{case}.expected.json").read_text())
    tables = expected.pop("tables", {})
    path = write_script(script, tmp_path, entries_per_chunk)
    found = sweep_script(script, path, by_thread=True)
    swept = joined(as_dicts(found)) | {"complete": found.complete}
    if "events" in expected:
        expected["events"] = dict.fromkeys(found.events, 0) | expected["events"]
    assert {name: swept[name] for name in expected} == expected
    assert sum(swept["breakdown"].values()) == found.end_ticks - found.start_ticks
    if tables:
        document = document_of(analyze(open_trace(tmp_path)))
        assert {name: document[name] for name in tables} == tables
    twin = joined(sweep_twin(script))
    assert {name: twin[name] for name in expected if name != "complete"} == {
        name: table for name, table in expected.items() if name != "complete"
    }
