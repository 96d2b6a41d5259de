"""The CUDA layer where there is no GPU: nothing changes for the program, and its own profilers count the same."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from recording import environment, record, run_plain

from rlscope.analysis.utilization import read_utilization
from rlscope.record.run.trace_directory import INJECTED_LIBRARY, INJECTION_VARIABLE
from rlscope.trace.utilization_file import PROCESSES

SHOW_CODE = f"import os; print(os.environ.get('{INJECTION_VARIABLE}'))"
SHOW = (sys.executable, "-c", SHOW_CODE)
WITHOUT_CUDA = ("--layers", "simulator,backend,wait")


def test_the_driver_of_children_loads_our_library(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", *SHOW)
    assert recording.stdout == f"{INJECTED_LIBRARY}\n"
    assert recording.stderr.count("\n") == 1


def test_without_the_layer_the_driver_loads_nothing(tmp_path: Path) -> None:
    assert record(tmp_path / "trace", *SHOW, options=WITHOUT_CUDA).stdout == "None\n"


def test_the_library_of_another_tool_stays_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INJECTION_VARIABLE, "/opt/other/libother.so")
    recording = record(tmp_path / "trace", *SHOW)
    assert recording.stdout == "/opt/other/libother.so\n"
    assert f"{INJECTION_VARIABLE} names another tool, /opt/other/libother.so; unset it" in recording.stderr
    assert recording.stderr.count("\n") == 2
    assert record(tmp_path / "silent", *SHOW, options=WITHOUT_CUDA).stderr.count("\n") == 1


def test_our_library_under_another_path_is_no_other_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INJECTION_VARIABLE, os.path.relpath(INJECTED_LIBRARY, tmp_path))
    assert record(tmp_path / "trace", *SHOW, cwd=tmp_path).stderr.count("\n") == 1


def test_nsight_compute_keeps_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NV_TPS_LAUNCH_TOKEN", "Interactive Profile")
    recording = record(tmp_path / "trace", sys.executable, "-c", SHOW_CODE)
    assert recording.stdout == "None\n"
    assert "work of GPUs is not recorded: Nsight Compute runs this program; run it without `ncu`" in recording.stderr


def test_a_script_that_records_itself_injects_it_too(tmp_path: Path) -> None:
    code = f"import subprocess, sys, rlscope; show = [sys.executable, '-c', {SHOW_CODE!r}]\n"
    code += "with rlscope.profile('trace'): subprocess.run(show, check=True)\nsubprocess.run(show, check=True)\n"
    finished = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    assert finished.stdout == f"{INJECTED_LIBRARY}\nNone\n"
    assert finished.stderr == ""


def test_the_layer_changes_nothing_where_there_is_no_gpu(tmp_path: Path) -> None:
    plain = run_plain("annotated.py")
    events = []
    for name, options in (("with", ()), ("without", WITHOUT_CUDA)):
        recording = record(tmp_path / name, "annotated.py", options=options)
        assert (recording.returncode, recording.stdout) == (plain.returncode, plain.stdout)
        assert recording.stderr.count("\n") == plain.stderr.count("\n") + 1
        assert recording.analysis["gpu"] == recording.analysis["gpu_operations"] == []
        assert recording.seconds(category="cuda") == 0
        # Who comes first to a lock, and which file or collection takes long, is not the same twice.
        # And whether a library that MuJoCo brings ends a call of ctypes before the recorder does.
        unsteady = dict.fromkeys(("wait", "python", "garbage_collection", "native"), 0)
        events.append({**recording.main_sweep()["events"], **unsteady})
    assert events[0] == events[1]


def test_processes_are_sampled_beside_the_trace(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", "import time; time.sleep(1.5)")
    table = read_utilization(recording.trace)
    assert set(table["source"]) == {PROCESSES}
    assert (table["memory_bytes"] > 0).all()


def test_a_trace_directory_that_vanishes_disturbs_no_one(tmp_path: Path) -> None:
    code = "import os, shutil, time; shutil.rmtree(os.environ['RLSCOPE_TRACE']); time.sleep(1); print('done')"
    recording = record(tmp_path / "trace", sys.executable, "-S", "-c", code)
    assert (recording.returncode, recording.stdout) == (0, "done\n")
    assert "Traceback" not in recording.stderr


def operators(found: dict[str, Any]) -> dict[str, Any]:
    """Without the calls of Python functions, among which are the hooks that find operations."""
    stack = {name: count for name, count in found["stack"].items() if "(" not in name and "<" not in name}
    return {**found, "stack": stack}


@pytest.mark.slow
def test_pytorchs_own_profilers_count_the_same(tmp_path: Path) -> None:
    expected = json.loads(run_plain("torch_profiled.py").stdout)
    assert expected["block"]["aten::addmm"] == expected["stack"]["aten::addmm"] == 1
    recording = record(tmp_path / "trace", "torch_profiled.py")
    assert operators(json.loads(recording.stdout)) == operators(expected)
    # Where no operations are looked for, not even a profile of all Python functions shows that we were there.
    recording = record(tmp_path / "no_auto", "torch_profiled.py", options=("--no-auto",))
    assert json.loads(recording.stdout) == expected
