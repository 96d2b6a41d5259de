"""One process with two GPUs: each device has its own work, and copies between them communicate. Needs two GPUs."""

from collections.abc import Callable
from typing import Any

import pytest

SCRIPT = """
import json, torch
import rlscope

def timed(device, work):
    with torch.cuda.device(device):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
    return begin.elapsed_time(end) / 1000

def spin(times):
    for _ in range(times):
        torch.cuda._sleep(20_000_000)

here, there = (torch.ones(1 << 26, device=f"cuda:{device}") for device in (0, 1))
there.copy_(here)
for device in (0, 1):
    timed(device, lambda: spin(1))
torch.cuda.synchronize()
found = {}
with rlscope.operation("simulation"):
    found["first_s"] = timed(0, lambda: spin(20))
with rlscope.operation("inference"):
    found["second_s"] = timed(1, lambda: spin(5))
with rlscope.operation("backpropagation"):
    found["copies_s"] = timed(0, lambda: [there.copy_(here, non_blocking=True) for _ in range(20)])
torch.cuda.synchronize()
print(json.dumps(found))
"""


@pytest.fixture(autouse=True)
def two_gpus() -> None:
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip(f"needs two GPUs, found {torch.cuda.device_count()}")


def test_each_device_has_its_work_and_copies_between_them_communicate(run_recorded: Callable[..., Any]) -> None:
    recording, analysis = run_recorded(SCRIPT)
    assert recording.returncode == 0, recording.stderr
    by_events = recording.printed
    operations = analysis.gpu_operations.table

    def busy_s(device: int, operation: str) -> float:
        rows = operations[(operations["device"] == device) & (operations["operation"] == operation)]
        return float(rows["busy_s"].sum())

    # Between two kernels a device does nothing for some microseconds, which events do not leave out.
    assert busy_s(0, "simulation") == pytest.approx(by_events["first_s"], rel=0.02)
    assert busy_s(1, "inference") == pytest.approx(by_events["second_s"], rel=0.02)
    assert busy_s(1, "simulation") == busy_s(0, "inference") == 0
    copies_s = busy_s(0, "backpropagation") + busy_s(1, "backpropagation")
    assert copies_s == pytest.approx(by_events["copies_s"], rel=0.05)
    assert analysis.gpu.table["communication_s"].sum() == pytest.approx(copies_s, rel=0.1)  # one more was before
    assert len(set(analysis.gpu.table["uuid"])) == 2
