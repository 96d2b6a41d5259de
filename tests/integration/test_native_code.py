"""Native code that no library's file knows: what a program calls by ctypes is not its Python."""

import sys
from pathlib import Path

from recording import record

#: 20 calls of a C library's function beside some Python, and stopwatches around both.
SIMULATES = """
import ctypes, json, time, rlscope
library = ctypes.CDLL("libc.so.6")
memory = ctypes.create_string_buffer(32 << 20)
took = {"native": 0.0, "python": 0.0}
for step in range(20):
    with rlscope.operation("simulation"):
        began = time.perf_counter()
        for _ in range(5):
            library.memset(memory, step, len(memory))
        called = time.perf_counter()
        sum(number * number for number in range(50_000))
        took["native"] += called - began
        took["python"] += time.perf_counter() - called
print(json.dumps(took))
"""


def test_calls_by_ctypes_are_native_code(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", SIMULATES)
    assert recording.returncode == 0, recording.stderr
    assert recording.main_sweep()["crossings"]["libc.memset"] == 100
    found = {name: recording.seconds(stage="simulation", category=name) for name in ("native", "python")}
    took = recording.printed
    assert abs(found["native"] / sum(found.values()) - took["native"] / sum(took.values())) < 0.1
    entries = [row for row in recording.analysis["transitions"] if row["to"] == "native"]
    assert [(row["from"], row["count"]) for row in entries] == [("python", 100)]


def test_without_the_layer_it_is_python(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", SIMULATES, options=("--layers", "simulator,backend"))
    assert recording.returncode == 0, recording.stderr
    assert recording.main_sweep()["crossings"] == {}
    assert {row["category"] for row in recording.analysis["breakdown"]} == {"python"}
