"""The memory of real programs by stage: what they hold, what they leak, and that looking leaves them as they are."""

import sys
from pathlib import Path

from recording import record

MIB = 1 << 20

#: 200 MiB are held in inference alone, and each iteration keeps 256 KiB.
HOLDS = """
import time, rlscope
kept = []
for iteration in range(120):
    with rlscope.operation("simulation"):
        kept.append(bytearray(b"x") * (256 << 10))
        end_s = time.perf_counter() + 0.05
        while time.perf_counter() < end_s:
            time.sleep(0.002)
    if iteration % 10 == 0:
        with rlscope.operation("inference"):
            large = bytearray(b"x") * (200 << 20)
            end_s = time.perf_counter() + 0.3
            while time.perf_counter() < end_s:
                time.sleep(0.002)
            del large
    rlscope.report_progress(timesteps=iteration)
print(len(kept))
"""


#: What an operation without a record inside has held, and freed before its end.
HOLDS_UNSEEN = """
import time, rlscope
def compute(seconds, function=lambda: None):
    end_s = time.perf_counter() + seconds
    while time.perf_counter() < end_s:
        function()
@rlscope.operation("start")
def look():
    pass
compute(0.3, look)
for name, mib in (("simulation", 100), ("backpropagation", 300)):
    with rlscope.operation(name):
        held = bytearray(b"x") * (mib << 20)
        compute(2)
        del held
"""


def test_what_an_operation_has_held_is_known_at_its_end(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", HOLDS_UNSEEN)
    assert recording.returncode == 0, recording.stderr
    most = {row["stage"]: row["highest_bytes"] for row in recording.analysis["memory"] if row["owner"] == "host"}
    (growth,) = recording.analysis["memory_growth"]
    assert most["backpropagation"] == growth["peak_bytes"]
    assert 300 * MIB < most["backpropagation"] < most["simulation"] + 210 * MIB
    assert 100 * MIB < most["simulation"] < 150 * MIB


def test_memory_of_stages_and_a_leak(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", HOLDS)
    assert (recording.returncode, recording.stdout) == (0, "120\n")
    most = {row["stage"]: row["highest_bytes"] for row in recording.analysis["memory"] if row["owner"] == "host"}
    assert most["inference"] - most["simulation"] > 150 * MIB
    (growth,) = recording.analysis["memory_growth"]
    assert growth["peak_bytes"] >= most["inference"]
    assert growth["grows"]
    assert 0.5 * 256 * 1024 < growth["bytes_per_iteration"] < 2 * 256 * 1024
