"""Windows of a running job on a GPU: its device layer is attached and detached a hundred times, and nothing is lost."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from recording import RLSCOPE, call_here, environment

from rlscope.analysis.analysis import analyze
from rlscope.trace.reader import open_trace

TIMES, ITERATIONS, KERNELS = 100, 2, 5
TRAINING = f"""
import hashlib, os, sys, torch, rlscope
end = sys.argv[1]
count = int(end) if end.isdigit() else None
torch.manual_seed(7)
weights = torch.randn(64, 64, device="cuda")
torch.cuda.synchronize()
print("ready", flush=True)
iteration = 0
with rlscope.operation("training_loop"):
    while iteration < count if count is not None else not os.path.exists(end):
        iteration += 1
        with rlscope.operation("backpropagation"):
            for _ in range({KERNELS}):
                weights.mul_(0.999)
            torch.cuda.synchronize()
        rlscope.report_progress(timesteps=iteration)
print(iteration, hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest(), flush=True)
"""


@pytest.fixture
def job(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    (tmp_path / "training.py").write_text(TRAINING)
    record = [*RLSCOPE, "record", "--idle", "-o", tmp_path / "run", "--"]
    started = subprocess.Popen(
        [*record, sys.executable, tmp_path / "training.py", tmp_path / "end"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert started.stdout is not None and started.stdout.readline() == "ready\n"
    yield started
    (tmp_path / "end").touch()
    started.communicate(timeout=100)


def test_a_hundred_windows_have_all_kernels_and_change_nothing(job: "subprocess.Popen[str]", tmp_path: Path) -> None:
    run, memory_kb = tmp_path / "run", []
    for number in range(1, TIMES + 1):
        finished = call_here("window", run, "--iterations", ITERATIONS)
        assert finished.returncode == 0, finished.stderr
        found = analyze(open_trace(run / f"window-{number}"))
        assert found.complete, found.why
        kernels = sum(row["kernels"] for row in found.gpu_operations.records())
        assert (found.iterations, kernels) == (ITERATIONS, ITERATIONS * KERNELS)
        (pid,) = {row["pid"] for row in found.processes.records()}
        anonymous = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        assert anonymous is not None
        memory_kb.append(int(anonymous[1]))
    (tmp_path / "end").touch()
    output, _ = job.communicate(timeout=100)
    iterations, _ = output.split()
    plain = [sys.executable, tmp_path / "training.py", iterations]
    assert subprocess.run(plain, capture_output=True, text=True, check=True).stdout.split() == [
        "ready",
        *output.split(),
    ]
    print(f"{TIMES} windows in {iterations} iterations: {memory_kb[TIMES // 4]} to {memory_kb[-1]} kB")
    assert memory_kb[-1] - memory_kb[TIMES // 4] < 8 << 10
