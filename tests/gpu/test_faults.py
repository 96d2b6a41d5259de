"""Whatever happens to the device or to CUPTI, the program is as it would be alone and the trace holds the rest."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recording import RLSCOPE, environment, record

from rlscope.analysis.analysis import analyze
from rlscope.trace.reader import open_trace

Run = Callable[..., Any]
PREPARED = "import torch, rlscope\nx = torch.ones(256, 256, device='cuda')\n(x @ x).sum().item()\n"
KERNELS = "with rlscope.operation('inference'):\n    for _ in range(100):\n        torch.cuda._sleep(1000)\n"


def spins(analysis: Any) -> int:
    table = analysis.device_work.table
    return int(table.loc[table["name"].str.contains("spin_kernel"), "count"].sum())


def test_os_exit_keeps_the_records(run_recorded: Run) -> None:
    recording, analysis = run_recorded(
        PREPARED + KERNELS + "torch.cuda.synchronize()\nimport os\nprint('end', flush=True)\nos._exit(3)\n"
    )
    assert (recording.returncode, recording.stdout) == (3, "end\n")
    assert spins(analysis) == 100


def test_a_killed_process_loses_a_second_at_most(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        PREPARED
        + "print('go', flush=True)\nwhile True:\n    torch.cuda._sleep(100_000)\n    torch.cuda.synchronize()\n"
    )
    trace = tmp_path / "trace"
    command = [*RLSCOPE, "record", "-o", str(trace), "--", sys.executable, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(4)
        pid = json.loads((trace / "manifest.json").read_text())["main_pid"]
        os.kill(pid, signal.SIGKILL)
        _, stderr = process.communicate()
    assert process.returncode == -signal.SIGKILL, stderr
    analysis = analyze(open_trace(trace), recover=True)
    assert not analysis.complete
    (gpu,) = analysis.gpu.table.to_dict("records")
    # It was busy almost all the time: what is missing of the four seconds is what the kill took.
    assert gpu["busy_s"] > (4 - 1.3) * 0.5
    first_to_last_s = analysis.device_work.table["seconds"].sum()
    assert first_to_last_s > 1


def test_a_kernel_that_faults(run_recorded: Run) -> None:
    recording, analysis = run_recorded(
        PREPARED
        + KERNELS
        + """
torch.cuda.synchronize()
try:
    x[torch.tensor([10**6], device="cuda")].sum().item()
except RuntimeError as error:
    print("faulted", flush=True)
"""
    )
    assert "faulted" in recording.stdout
    assert spins(analysis) <= 100
    assert analysis.breakdown.table["seconds"].sum() > 0


def test_out_of_device_memory(run_recorded: Run) -> None:
    recording, analysis = run_recorded(
        PREPARED
        + """
try:
    torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    print("caught")
"""
        + KERNELS
    )
    assert (recording.returncode, recording.stdout) == (0, "caught\n")
    assert spins(analysis) == 100


def test_the_device_is_reset(run_recorded: Run) -> None:
    recording, analysis = run_recorded(
        PREPARED
        + KERNELS
        + """
torch.cuda.synchronize()
import ctypes, os
path = next(l.split()[-1] for l in open("/proc/self/maps") if "libcudart.so" in l)
assert ctypes.CDLL(path).cudaDeviceReset() == 0
print("reset", flush=True)
os._exit(0)
"""
    )
    assert (recording.returncode, recording.stdout) == (0, "reset\n")
    assert spins(analysis) == 100


PROFILED = (
    PREPARED
    + """
import time
from torch.profiler import profile, ProfilerActivity
def work():
    for _ in range(50):
        torch.cuda._sleep(1000)
        x.add_(1)
    torch.cuda.synchronize()
with rlscope.operation("before"):
    work()
for _ in range(2):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        work()
    for event in sorted(profiler.key_averages(), key=lambda e: e.key):
        if event.device_type == torch.autograd.DeviceType.CUDA:
            print(event.key, event.count)
for _ in range(60):
    x.add_(1)
    torch.cuda.synchronize()
    time.sleep(0.05)
with rlscope.operation("after"):
    work()
"""
)


@pytest.mark.parametrize("teardown", ["0", "1"])
def test_torch_profiler_inside_gets_what_it_would_alone(
    teardown: str, run_recorded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch keeps CUPTI after its profiler has stopped, unless it is told to tear it down."""
    monkeypatch.setenv("TEARDOWN_CUPTI", teardown)
    plain_script = tmp_path / "plain.py"
    plain_script.write_text(PROFILED)
    plain = subprocess.run(
        [sys.executable, str(plain_script)], capture_output=True, text=True, env=environment(), timeout=200
    )
    recording, analysis = run_recorded(PROFILED)
    assert plain.returncode == recording.returncode == 0, recording.stderr
    # After a teardown PyTorch's second profile sees no kernels, recorded or not.
    assert plain.stdout.count("spin_kernel") == (1 if teardown == "1" else 2)
    assert recording.stdout == plain.stdout
    kernels = analysis.gpu_operations.table.set_index("operation")["kernels"].to_dict()
    assert kernels["before"] == 100
    assert kernels.get("after", 0) == (100 if teardown == "1" else 0)
    assert any("torch.profiler" in reason for reason in analysis.why)
    assert ("TEARDOWN_CUPTI" in recording.stderr) == (teardown == "0")


def test_ncu_has_cupti(tmp_path: Path) -> None:
    ncu = shutil.which("ncu")
    if ncu is None:
        pytest.skip("no ncu here")
    script = tmp_path / "script.py"
    script.write_text(PREPARED + "torch.cuda.synchronize()\nprint('end')\n")
    trace = tmp_path / "trace"
    finished = subprocess.run(
        [ncu, "--target-processes", "all", "--clock-control", "none", "--launch-count", "1",
         *RLSCOPE, "record", "-o", str(trace), "--", sys.executable, str(script)],
        capture_output=True, text=True, env=environment(), timeout=280,
    )  # fmt: skip
    assert "end" in finished.stdout, finished.stderr
    assert finished.stderr.count("work of GPUs is not recorded: Nsight Compute runs this program") == 1
    assert analyze(open_trace(trace)).breakdown.table["seconds"].sum() > 0


def test_two_libcupti_in_one_process(run_recorded: Run) -> None:
    recording, analysis = run_recorded(
        """
import ctypes, glob, sys
for entry in sys.path:
    for path in glob.glob(entry + "/triton/backends/nvidia/lib/cupti/libcupti.so*"):
        ctypes.CDLL(path)
"""
        + PREPARED
        + KERNELS
        + "torch.cuda.synchronize()\n"
    )
    assert recording.returncode == 0, recording.stderr
    assert spins(analysis) == 100


PROGRAM = r"""
#include <cstdio>
__global__ void add_one(float* x) { x[threadIdx.x] += 1; }
int main() {
  float* x;
  cudaMalloc(&x, 1024);
  cudaMemset(x, 0, 1024);
  for (int i = 0; i < 1000; i++) add_one<<<1, 256>>>(x);
  float y;
  cudaMemcpy(&y, x, 4, cudaMemcpyDeviceToHost);
  std::printf("%g\n", y);
  return 5;
}
"""


def test_a_program_without_python(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    (tmp_path / "program.cu").write_text(PROGRAM)
    subprocess.run([nvcc, "-arch=native", "-o", str(tmp_path / "program"), str(tmp_path / "program.cu")], check=True)
    recording = record(tmp_path / "trace", str(tmp_path / "program"))
    assert (recording.returncode, recording.stdout) == (5, "1000\n")
    analysis = analyze(open_trace(tmp_path / "trace"))
    (process,) = analysis.processes.table.to_dict("records")
    assert process["process"] == "program" or process["role"] == "main"
    (kernels,) = analysis.device_work.table[analysis.device_work.table["name"].str.contains("add_one")].to_dict(
        "records"
    )
    assert (kernels["name"], kernels["count"]) == ("add_one(float*)", 1000)
    assert analysis.breakdown.table["seconds"].sum() == pytest.approx(process["wall_s"], rel=1e-6)
    # Where it was blocked outside a CUDA call, starting up or ending, that is a wait; it may have had no core there.
    assert {"cuda", "python", "wait", "no_core"} >= set(analysis.breakdown.table["category"])
