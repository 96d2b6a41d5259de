"""What the device did is in the trace: how often, how long, how many bytes, launched from where."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

Run = Callable[..., Any]
HEADER = "import torch, rlscope\nx = torch.ones(256, 256, device='cuda')\ntorch.cuda.synchronize()\n"
PREPARED = HEADER + "(x @ x).sum().item()\nx.add(1)\ntorch.cuda.synchronize()\n"


def spinning(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["name"].str.contains("spin_kernel")]


def count(table: pd.DataFrame, operation: str, name: str) -> int:
    rows = (table["operation"] == operation) & table["name"].str.contains(name)
    return int(table.loc[rows, "count"].sum())


def test_counts_and_bytes_by_operation(run_recorded: Run) -> None:
    recording, analysis = run_recorded(
        PREPARED
        + """
with rlscope.operation("inference"):
    for _ in range(100):
        torch.cuda._sleep(1000)
with rlscope.operation("simulation"):
    host = torch.ones(1 << 20).pin_memory()
    for _ in range(10):
        y = host.cuda(non_blocking=True)
    for _ in range(7):
        y.zero_()
    torch.cuda.synchronize()
    y.cpu()
"""
    )
    assert recording.returncode == 0, recording.stderr
    work = analysis.device_work.table
    assert count(work, "inference", "spin_kernel") == 100
    assert count(work, "simulation", "memcpy HtoD") == 10
    assert count(work, "simulation", "memcpy DtoH") == 1
    copies = work[(work["operation"] == "simulation") & work["name"].str.contains("HtoD")]
    assert int(copies["bytes"].sum()) == 10 * 4 << 20
    assert count(work, "simulation", "memset") + count(work, "simulation", "Fill") == 7
    assert (work["device"] == 0).all()
    assert analysis.complete, analysis.why
    (gpu,) = analysis.gpu.table.to_dict("records")
    assert gpu["uuid"].startswith("GPU-")
    assert sum(analysis.gpu_operations.table["busy_s"]) == pytest.approx(gpu["busy_s"], rel=1e-6)


def test_lines_and_memory_are_recorded_beside_the_device(run_recorded: Run) -> None:
    _, analysis = run_recorded(
        PREPARED
        + """
with rlscope.operation("inference"):
    for _ in range(300):
        torch.cuda._sleep(1000)
        sum(range(20000))
torch.cuda.synchronize()
""",
        "--lines",
    )
    assert count(analysis.device_work.table, "inference", "spin_kernel") == 300
    assert analysis.lines.table.query("operation == 'inference'")["stacks"].sum() > 30
    assert "PyTorch" in set(analysis.memory.table["owner"])


def test_every_launch_is_resolved_and_nothing_is_dropped(run_recorded: Run) -> None:
    recording, _ = run_recorded(PREPARED + "for _ in range(30000):\n    x.add_(1)\ntorch.cuda.synchronize()\n")
    swept = recording.main_sweep()
    assert swept["unresolved_launches"] == 0
    assert swept["dropped_device_records"] == 0
    assert swept["crossings"]["cuLaunchKernel"] >= 30000


def test_device_times_lie_where_the_host_waited_for_them(run_recorded: Run) -> None:
    """The device's clock is the host's: 50 ms kernels lie inside the operations that wait for them."""
    _, analysis = run_recorded(
        PREPARED
        + """
for _ in range(10):
    with rlscope.operation("wait_for_it"):
        torch.cuda._sleep(100_000_000)
        torch.cuda.synchronize()
    with rlscope.operation("nothing"):
        for _ in range(20_000):
            pass
""",
    )
    on_device = analysis.breakdown.table[analysis.breakdown.table["resource"].isin(["gpu", "cpu+gpu"])]
    inside = on_device.loc[on_device["operation"] == "wait_for_it", "seconds"].sum()
    outside = on_device.loc[on_device["operation"] == "nothing", "seconds"].sum()
    assert inside > 0.1
    assert outside < 1e-4 * inside
    waiting = on_device[(on_device["operation"] == "wait_for_it") & (on_device["resource"] == "gpu")]
    assert set(waiting["category"]) == {"cuda"}
    assert waiting["seconds"].sum() > 0.9 * inside


def test_two_streams_at_once_are_busy_once(run_recorded: Run) -> None:
    _, analysis = run_recorded(
        PREPARED
        + """
streams = [torch.cuda.Stream() for _ in range(2)]
with rlscope.operation("both"):
    for stream in streams:
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
    torch.cuda.synchronize()
"""
    )
    sleeping_s = float(spinning(analysis.device_work.table)["seconds"].sum())
    busy_s = float(analysis.gpu_operations.table.set_index("operation").loc["both", "busy_s"])
    assert busy_s == pytest.approx(sleeping_s / 2, rel=0.05)


def test_a_graph_shows_the_kernels_of_each_replay(run_recorded: Run) -> None:
    _, analysis = run_recorded(
        PREPARED
        + """
graph = torch.cuda.CUDAGraph()
y = torch.zeros(256, 256, device="cuda")
with torch.cuda.graph(graph):
    for _ in range(20):
        y.add_(x)
with rlscope.operation("replay"):
    for _ in range(10):
        graph.replay()
    torch.cuda.synchronize()
assert y[0, 0].item() == 200
"""
    )
    assert count(analysis.device_work.table, "replay", "add|Add|elementwise") == 200


def test_backward_kernels_belong_to_the_operation_that_called_backward(run_recorded: Run) -> None:
    _, analysis = run_recorded(
        PREPARED
        + """
net = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)]).cuda()
net(x).sum().backward()
torch.cuda.synchronize()
for _ in range(20):
    with rlscope.operation("inference"):
        loss = net(x).sum()
    with rlscope.operation("backpropagation"):
        loss.backward()
torch.cuda.synchronize()
"""
    )
    kernels = analysis.gpu_operations.table.set_index("operation")["kernels"]
    assert kernels["backpropagation"] >= 20 * 4 * 2
    assert kernels["inference"] >= 20 * 4


def test_threads_launch_from_operations_of_their_own(run_recorded: Run) -> None:
    _, analysis = run_recorded(
        PREPARED
        + """
import threading
def work(name):
    with torch.cuda.stream(torch.cuda.Stream()), rlscope.operation(name):
        for _ in range(500):
            torch.cuda._sleep(100)
threads = [threading.Thread(target=work, args=(f"thread_{n}",)) for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
torch.cuda.synchronize()
"""
    )
    table = spinning(analysis.device_work.table)
    assert {name: int(n) for name, n in table.groupby("operation")["count"].sum().items()} == {
        f"thread_{n}": 500 for n in range(4)
    }


def test_compiled_code_and_what_it_launches(run_recorded: Run) -> None:
    recording, analysis = run_recorded(
        PREPARED
        + """
net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()).cuda()
compiled = torch.compile(net, fullgraph=True)
with torch.no_grad():
    compiled(x)
    with rlscope.operation("inference"):
        for _ in range(50):
            result = compiled(x)
    torch.cuda.synchronize()
    assert torch.allclose(result, net(x), atol=1e-2)
"""
    )
    assert recording.returncode == 0, recording.stderr
    assert int(analysis.gpu_operations.table.set_index("operation").loc["inference", "kernels"]) >= 50


def test_jax(run_recorded: Run) -> None:
    pytest.importorskip("jax")
    recording, analysis = run_recorded(
        """
import os
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax, jax.numpy as jnp, rlscope
step = jax.jit(lambda a: jnp.tanh(a @ a))
x = step(jnp.ones((256, 256))).block_until_ready()
with rlscope.operation("inference"):
    for _ in range(100):
        x = step(x)
    x.block_until_ready()
"""
    )
    assert recording.returncode == 0, recording.stderr
    assert int(analysis.gpu_operations.table.set_index("operation").loc["inference", "kernels"]) >= 100


def test_two_processes_share_the_device(run_recorded: Run) -> None:
    _, analysis = run_recorded(
        """
import torch, multiprocessing, time, rlscope
def work(barrier):
    x = torch.ones(16, device="cuda")
    torch.cuda.synchronize()
    barrier.wait()
    with rlscope.operation("shared"):
        for _ in range(20):
            torch.cuda._sleep(20_000_000)
        torch.cuda.synchronize()
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    workers = [context.Process(target=work, args=(barrier,)) for _ in range(2)]
    [w.start() for w in workers]; [w.join() for w in workers]
"""
    )
    per_process = analysis.gpu_operations.table[analysis.gpu_operations.table["operation"] == "shared"]
    assert len(per_process) == 2
    (gpu,) = analysis.gpu.table.to_dict("records")
    assert per_process["busy_s"].max() <= gpu["busy_s"] <= analysis.gpu_operations.table["busy_s"].sum() * (1 + 1e-6)
