"""Native code that no library's file knows: what a program calls by ctypes is not its Python."""

import sys
from pathlib import Path

import pytest
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


#: A module that pybind11 has made, imported before the recording follows libraries or afterwards.
TRANSFORMS = """
import sys
if "early" in sys.argv:
    import scipy.fft
import ctypes
import scipy.fft
print(sum(abs(scipy.fft.fft([1.0, 2.0, 3.0])[0]) for _ in range(50)))
"""


@pytest.mark.parametrize("arguments", [(), ("early",)], ids=["later", "early"])
def test_functions_that_pybind11_has_made_are_native_code(arguments: tuple[str, ...], tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", TRANSFORMS, *arguments)
    assert (recording.returncode, recording.stdout, recording.stderr.count("\n")) == (0, "300.0\n", 1)
    crossings = recording.main_sweep()["crossings"]
    assert sum(count for name, count in crossings.items() if name.startswith("scipy.fft.")) == 50
    assert recording.main_sweep()["events"]["native"] == 50


def test_modules_of_known_packages_stay_what_they_are(tmp_path: Path) -> None:
    steps = "import ale_py; ale = ale_py.ALEInterface(); ale.loadROM(ale_py.roms.get_rom_path('pong'))"
    recording = record(tmp_path / "trace", sys.executable, "-c", f"{steps}; print(ale.act(0))")
    assert recording.returncode == 0, recording.stderr
    events = recording.main_sweep()["events"]
    assert events["simulator"] > 0
    assert not [name for name in recording.main_sweep()["crossings"] if name.startswith("ale_py.") and events["native"]]


def test_without_the_layer_it_is_python(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", SIMULATES, options=("--layers", "simulator,backend"))
    assert recording.returncode == 0, recording.stderr
    assert recording.main_sweep()["crossings"] == {}
    assert {row["category"] for row in recording.analysis["breakdown"]} == {"python"}
