"""What is estimated from a sample of iterations says what is not known of the run."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from adversary_runs import call, is_one_error, on_a_disk, skip_without_disk
from recording import RLSCOPE, environment

from rlscope.monitor.windows.run_windows import begun_windows

ITERATIONS = 30
#: It waits a while before each second iteration, so that a window is ready for that.
LOOP = f"""
import glob, os, signal, time
import rlscope
for iteration in range(1, {ITERATIONS + 1}):
    with rlscope.operation("inference"):
        time.sleep(0.01)
        for _ in range(40 * (iteration % 2)):
            if any(not glob.glob(f"{{{{window}}}}/*.rlscope") for window in glob.glob("disk/trace/window-*")):
                break
            time.sleep(0.01)
        time.sleep(0.03 * (iteration % 2))
    rlscope.report_progress(timesteps=iteration)
{{end}}
"""


def sampled(folder: Path, end: str = "", before: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    """Record each other iteration of the loop into disk/trace."""
    (folder / "disk").mkdir()
    (folder / "loop.py").write_text(LOOP.format(end=end))
    words = [*before, *RLSCOPE, "record", "--every", "2", "-o", "disk/trace", "--", sys.executable, "loop.py"]
    return subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, timeout=100, check=False
    )


def estimate(run: Path, *options: str) -> dict[str, Any]:
    finished = call("analyze", run, "--json", *options)
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout)
    assert found["complete"] == (found["why"] == [])
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sampled")
    assert sampled(folder).returncode == 0
    return folder / "disk" / "trace"


def test_a_sample_that_lacks_nothing_says_so(whole: Path) -> None:
    found = estimate(whole)
    assert (found["complete"], found["iterations"], found["damaged_windows"]) == (True, ITERATIONS, [])
    assert 5 <= found["windows"] == found["recorded_iterations"] == len(begun_windows(whole))
    assert "incomplete" not in call("analyze", whole).stdout


def test_a_program_that_is_killed_has_told_how_many_iterations_it_made(tmp_path: Path) -> None:
    finished = sampled(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    assert finished.returncode == -signal.SIGKILL
    assert estimate(tmp_path / "disk" / "trace")["iterations"] == ITERATIONS


def test_a_disk_that_gets_full(tmp_path: Path) -> None:
    finished = sampled(tmp_path, before=on_a_disk("140k"))
    skip_without_disk(finished)
    assert finished.returncode == 0
    assert "No space left on device" in finished.stderr
    found = estimate(tmp_path / "kept", "--recover")
    assert found["recorded_iterations"] < ITERATIONS // 3
    assert found["iterations"] == ITERATIONS
    assert any(f"to {ITERATIONS} could not be recorded: No space left on device" in why for why in found["why"])
    shown = call("analyze", "--recover", tmp_path / "kept").stdout
    assert f"Estimated from {found['recorded_iterations']} of {ITERATIONS} iterations" in shown
    assert "incomplete: " in shown


def test_windows_that_are_damaged_are_refused_or_named(whole: Path) -> None:
    before = estimate(whole)["recorded_iterations"]
    damaged, gone, other = begun_windows(whole)[1:4]
    for window, place in ((damaged, 4170), (gone, 0)):
        (file,) = window.glob("*.rlscope")
        data = bytearray(file.read_bytes())
        data[place : place + 64] = bytes(byte ^ 0xFF for byte in data[place : place + 64])
        file.write_bytes(data)
    (other / "manifest.json").write_text("no JSON")
    refused = call("analyze", whole)
    assert is_one_error(refused, 2) and "--recover" in refused.stderr
    found = estimate(whole, "--recover")
    assert found["damaged_windows"] == [damaged.name, gone.name, other.name]
    assert before - 2 <= found["recorded_iterations"] < before
    for name in found["damaged_windows"]:
        assert sum(why.startswith(f"{name}: ") for why in found["why"]) >= 1
    said = " ".join(call("analyze", "--recover", whole).stdout.split())
    assert f"3 of {found['windows']} windows are damaged: {', '.join(found['damaged_windows'])}" in said
