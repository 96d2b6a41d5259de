"""Trains a small network with torch.compile; prints counts, known times and the losses as JSON."""

import json
import sys
import time

import torch
from torch._dynamo.testing import CompileCounter
from torch.distributions import Categorical

import rlscope

STEPS = 30
SECONDS: dict[str, float] = {}

torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
batch = torch.randn(128, 64)


@torch.compile(fullgraph=True)
def loss_of(x: torch.Tensor) -> torch.Tensor:
    return (net(x) ** 2).mean()


@torch.compile(fullgraph=True)
def heavy(x: torch.Tensor) -> torch.Tensor:
    """One fused kernel that takes long against everything around it."""
    for _ in range(30):
        x = torch.sin(x) * 1.01
    return x


def train_once() -> float:
    optimizer.zero_grad()
    loss = loss_of(batch)
    loss.backward()
    optimizer.step()
    return loss.item()


started = time.perf_counter()
first_losses = [train_once()]
heavy(torch.ones(1_000_000))
SECONDS["first"] = time.perf_counter() - started

with rlscope.operation("training"):
    losses = [train_once() for _ in range(STEPS)]
large = torch.ones(1_000_000)
with rlscope.operation("kernel"):
    started = time.perf_counter()
    for _ in range(STEPS):
        heavy(large)
    SECONDS["kernel"] = time.perf_counter() - started

# Counts graphs with a backend of its own; a network and a distribution, under another operation, stay one graph.
counter = CompileCounter()
with rlscope.operation("counted"):
    counted = torch.compile(lambda x: Categorical(logits=net(x)).entropy().sum(), backend=counter, fullgraph=True)
    counted(batch)
    counted(batch)
print(json.dumps({"seconds": SECONDS, "losses": first_losses + losses, "graphs": counter.frame_count, "steps": STEPS}))
sys.stdout.flush()
