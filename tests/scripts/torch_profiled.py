"""Profiles itself with PyTorch's own profilers in every way they are used, and prints how often everything ran."""

import json
import re
import warnings
from collections import Counter

import torch

warnings.filterwarnings("ignore")
found = {}


def work() -> None:
    layer = torch.nn.Linear(4, 4)
    layer(torch.ones(2, 4)).sum().backward()


def counts(profiler: torch.profiler.profile | torch.autograd.profiler.profile) -> dict[str, int]:
    found: Counter[str] = Counter()
    for row in profiler.key_averages():
        found[re.sub(r" object at 0x\w+", "", row.key)] += row.count
    return found


with torch.profiler.profile() as profiler:
    work()
found["block"] = counts(profiler)

steps = []
schedule = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
with torch.profiler.profile(
    schedule=schedule, on_trace_ready=lambda profiler: steps.append(counts(profiler))
) as profiler:
    for _ in range(9):
        work()
        profiler.step()
found["schedule"] = steps

profiler = torch.profiler.profile(record_shapes=True, profile_memory=True)
profiler.start()
work()
profiler.stop()
found["shapes"] = [(event.name, str(event.input_shapes)) for event in profiler.events()]

with torch.profiler.profile(with_stack=True) as profiler:
    work()
found["stack"] = counts(profiler)

with torch.autograd.profiler.profile() as profiler:
    work()
found["autograd"] = counts(profiler)

try:
    with torch.profiler.profile() as profiler:
        work()
        raise ValueError("in the block")
except ValueError:
    found["error in the block"] = counts(profiler)

with torch.profiler.profile() as profiler, torch.profiler.profile():
    work()
found["one around another"] = counts(profiler)

with torch.profiler.profile() as profiler:
    work()
found["after all that"] = counts(profiler)
print(json.dumps(found, indent=1))
