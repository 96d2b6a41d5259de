"""Trains on several ranks, with DistributedDataParallel or FSDP2; the last one sleeps for a known time in each step.

    torchrun --standalone --nproc-per-node 2 tests/gpu/programs/ranks.py FOLDER --kind ddp --late-ms 2

Each rank writes into FOLDER, as its number and `.json`, when its steps began and how long they took, by its stopwatch,
and when it made each call by PyTorch's flight recorder. A step begins with communication: of DistributedDataParallel's
buffers, or of FSDP2's parameters. With --profile, torch.profiler is on for the steps, and rank 0 adds how it saw NCCL's
kernels.
"""

import argparse
import json
import os
import pickle
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import rlscope

#: Before these, allocators and buckets settle.
WARM_UP = 10


def model_of(kind: str, width: int, layers: int, device: torch.device) -> torch.nn.Module:
    """A stack of linear layers, the same on all ranks."""
    torch.manual_seed(0)
    linear = [torch.nn.Linear(width, width, device=device) for _ in range(layers)]
    if kind == "ddp":
        model = torch.nn.Sequential(torch.nn.BatchNorm1d(width, affine=False, device=device), *linear)
        return DistributedDataParallel(model, bucket_cap_mb=max(1, 4 * width * width * layers // 4 >> 20))
    from torch.distributed.fsdp import fully_shard

    model = torch.nn.Sequential(*linear)
    for layer in linear:
        fully_shard(layer)
    fully_shard(model)
    return model


def steps(model: torch.nn.Module, args: argparse.Namespace, device: torch.device) -> dict[str, list[int]]:
    """Train, and return when each step began, behind the sleep, and when it was done; in ns of CLOCK_MONOTONIC."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(args.batch, args.width, device=device)
    is_late = dist.get_rank() == dist.get_world_size() - 1
    began_ns, ended_ns = [], []
    for step in range(WARM_UP + args.steps):
        with rlscope.operation("training_loop"):
            if is_late:
                time.sleep(args.late_ms / 1000)
            began_ns.append(time.monotonic_ns())
            with rlscope.operation("backpropagation"):
                optimizer.zero_grad()
                model(batch).square().mean().backward()
                optimizer.step()
            if device.type == "cuda":
                torch.cuda.synchronize()
            ended_ns.append(time.monotonic_ns())
        rlscope.report_progress(timesteps=step + 1)
    return {"began_ns": began_ns, "ended_ns": ended_ns}


def communication(profiler: Any) -> dict[str, float]:
    """How many kernels of NCCL torch.profiler saw, and which share of their time other kernels ran beside them."""
    kernels = [each for each in profiler.events() if each.device_type == torch.autograd.DeviceType.CUDA]
    edges = []
    for each in kernels:
        place = 0 if each.name.startswith("nccl") else 1
        edges += [(each.time_range.start, 1, place), (each.time_range.end, -1, place)]
    running, communicating_us, both_us, before = [0, 0], 0.0, 0.0, 0.0
    for at, change, place in sorted(edges):
        communicating_us += (at - before) * (running[0] > 0)
        both_us += (at - before) * (running[0] > 0 and running[1] > 0)
        running[place] += change
        before = at
    count = sum(each.name.startswith("nccl") for each in kernels)
    return {"kernels": count, "overlap_percent": 100 * both_us / communicating_us if communicating_us else 0.0}


def calls_of_flight_recorder() -> list[tuple[str, int]]:
    """What each call of the whole group was, such as "nccl:all_reduce", and when it was made; ns of CLOCK_MONOTONIC."""
    recorder: Any = torch._C._distributed_c10d
    dump = recorder._dump_nccl_trace if dist.get_backend() == "nccl" else recorder._dump_fr_trace
    entries = pickle.loads(dump(True, False, False))["entries"]
    calls = [each for each in entries if each["process_group"][0] == "0" and not each["is_p2p"]]
    calls.sort(key=lambda each: each["record_id"])
    offset_ns = time.time_ns() - time.monotonic_ns()
    return [(each["profiling_name"], each["time_created_ns"] - offset_ns) for each in calls]


def main() -> None:
    """Train and write, on GPUs with NCCL if there are any, else with Gloo."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", choices=("ddp", "fsdp"), default="ddp")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--late-ms", type=float, default=0.0)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    os.environ.setdefault("TORCH_FR_BUFFER_SIZE", "100000")
    has_gpus = torch.cuda.is_available()
    dist.init_process_group("nccl" if has_gpus else "gloo")
    device = torch.device("cuda", dist.get_rank()) if has_gpus else torch.device("cpu")
    if has_gpus:
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    model = model_of(args.kind, args.width, args.layers, device)
    with torch.profiler.profile() if args.profile else nullcontext() as profiler:
        found: dict[str, Any] = dict(steps(model, args, device))
    if profiler is not None and dist.get_rank() == 0:
        found["profiler"] = communication(profiler)
    found["calls"] = calls_of_flight_recorder()
    (args.folder / f"{dist.get_rank()}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
