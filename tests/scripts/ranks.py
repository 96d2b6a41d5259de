"""Ranks that wait for each other: `torchrun ranks.py STEPS LATE_S`. Rank 1 sleeps LATE_S longer before each all_reduce.

Each rank then sends a message, goes backward through models whose gradients and parameters are shared in two ways, and
prints what its stopwatch says and a digest of the gradients, as JSON.
"""

import hashlib
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import rlscope

STEPS, LATE_S = int(sys.argv[1]), float(sys.argv[2])
BACKWARDS = 3
FUNCTIONAL_LATE_S = 0.05


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def make_model() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(100, 1000), torch.nn.Linear(1000, 1))


def backward(model: torch.nn.Module) -> None:
    model(torch.randn(4, 100)).sum().backward()


torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
halves = [dist.new_group(list(range(half, size, 2))) for half in range(2)]
values = torch.ones(1000)
dist.barrier()
called_ns, ended_ns = [], []
for step in range(STEPS):
    with rlscope.operation("training_loop"):
        time.sleep(0.002 + (LATE_S if rank == 1 else 0.0))
        called_ns.append(now_ns())
        dist.all_reduce(values)
        ended_ns.append(now_ns())
    rlscope.report_progress(timesteps=step + 1)
dist.broadcast(values, src=rank % 2, group=halves[rank % 2])
if rank == 0:
    dist.send(values, dst=1)
elif rank == 1:
    dist.recv(values, src=0)
gathered = dist.all_gather([torch.empty(10) for _ in range(size)], torch.ones(10), async_op=True)
while not gathered.is_completed():  # nobody waits for it
    time.sleep(0.001)
del gathered
for late_s in (0.0, FUNCTIONAL_LATE_S):  # the first call makes itself ready
    dist.barrier()
    time.sleep(late_s if rank == 1 else 0.0)
    functional.all_reduce(values, "sum", dist.group.WORLD).wait()
operators = torch.ops._c10d_functional  # as code does that torch.compile makes
operators.wait_tensor.default(operators.all_reduce_.default(values, "sum", dist.group.WORLD.group_name))
torch.manual_seed(rank)
model = DistributedDataParallel(make_model(), bucket_cap_mb=0)
for _ in range(BACKWARDS):
    dist.barrier()
    time.sleep(LATE_S if rank == 1 else 0.0)
    called_ns.append(now_ns())
    backward(model)
    ended_ns.append(now_ns())
digest = hashlib.sha256(b"".join(each.grad.numpy().tobytes() for each in model.parameters() if each.grad is not None))
sharded = fully_shard(make_model())
for _ in range(BACKWARDS):
    backward(sharded)
dist.barrier()
print(
    json.dumps({"rank": rank, "called_ns": called_ns, "ended_ns": ended_ns, "digest": digest.hexdigest()}), flush=True
)
os._exit(0)  # with Gloo, PyTorch 2.13 aborts now and then where a reducer outlives its process group
