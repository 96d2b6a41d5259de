"""A device's memory by stage, as PyTorch's and JAX's allocators know it."""

import json
import sys
from pathlib import Path

import pytest
from recording import record

MIB = 1 << 20

#: 512 MiB are held in backpropagation alone, and each iteration keeps 2 MiB. The allocator's own peak is printed.
PYTORCH = """
import time, rlscope, torch
kept = []
weights = torch.ones(1 << 20, device="cuda")
for iteration in range(150):
    with rlscope.operation("inference"):
        kept.append(torch.zeros(1 << 19, device="cuda"))
        for _ in range(40):
            weights.mul_(1)
            time.sleep(0.001)
    if iteration % 10 == 0:
        with rlscope.operation("backpropagation"):
            large = torch.zeros(1 << 27, device="cuda")
            for _ in range(150):
                weights.mul_(1)
                time.sleep(0.001)
            del large
    rlscope.report_progress(timesteps=iteration)
torch.cuda.synchronize()
print(torch.cuda.max_memory_allocated())
"""

JAX = """
import time, rlscope, jax, jax.numpy as jnp
for iteration in range(20):
    with rlscope.operation("inference"):
        large = jnp.zeros(1 << 27).block_until_ready()
        for _ in range(100):
            time.sleep(0.002)
        del large
print(jax.local_devices()[0].memory_stats()["peak_bytes_in_use"])
"""


def test_what_pytorch_has_given_out(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", PYTORCH)
    assert recording.returncode == 0, recording.stderr
    most = {row["stage"]: row["highest_bytes"] for row in recording.analysis["memory"] if row["owner"] == "PyTorch"}
    assert 450 * MIB < most["backpropagation"] - most["inference"] < 520 * MIB
    (growth,) = (row for row in recording.analysis["memory_growth"] if row["owner"] == "PyTorch")
    assert (growth["device"], growth["peak_bytes"]) == (0, int(recording.stdout))
    assert growth["grows"]
    assert growth["bytes_per_iteration"] == pytest.approx(2 * MIB, rel=0.1)
    assert "_cuda_memoryStats" not in json.dumps(recording.analysis)


def test_what_jax_has_given_out(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    recording = record(tmp_path / "trace", sys.executable, "-c", JAX)
    assert recording.returncode == 0, recording.stderr
    most = {row["stage"]: row["highest_bytes"] for row in recording.analysis["memory"] if row["owner"] == "JAX"}
    assert 512 * MIB <= most["inference"] <= 520 * MIB
    (growth,) = (row for row in recording.analysis["memory_growth"] if row["owner"] == "JAX")
    assert (growth["device"], growth["peak_bytes"]) == (0, int(recording.stdout))


#: A child of a process that has used the device: a lock may be held there for good, so it must not be asked.
FORKS = """
import os, time, rlscope, torch
torch.ones(1 << 20, device="cuda")
child = os.fork()
for _ in range(200):
    with rlscope.operation("inference"):
        time.sleep(0.002)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_forked_child_is_asked_for_the_host_s_alone(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-W", "ignore", "-c", FORKS)
    assert recording.returncode == 0, recording.stderr
    main, child = (row["process"] for row in recording.analysis["processes"])
    owners = {(row["process"], row["owner"]) for row in recording.analysis["memory"]}
    assert owners == {(main, "host"), (main, "PyTorch"), (child, "host")}
