"""An on-policy loop, as RSL-RL's, that asks the device for numbers in known lines: `syncing_loop.py ITERATIONS`.

Prints as JSON, for each of these lines, how often it ran and how long that took.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

import rlscope

ENVIRONMENTS = 4096
STEPS, UPDATES = 24, 20
#: For which the device works before a wait that else would be too short for its stack to be seen: 5 ms or so.
CYCLES = 10_000_000
#: What each line is called in its comment.
ASKS = ("any_done", "loss_item", "rewards_cpu", "synchronize")


def clock(took: dict[str, list[float]], name: str, start_s: float) -> None:
    """Keep how long one of the lines took."""
    took[name].append(time.perf_counter() - start_s)


def main() -> None:
    """Train, and print what the lines took."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    policy = torch.nn.Sequential(
        torch.nn.Linear(48, 256), torch.nn.ELU(), torch.nn.Linear(256, 256), torch.nn.ELU(), torch.nn.Linear(256, 12)
    ).to(device)
    optimizer = torch.optim.Adam(policy.parameters())
    mixing = torch.randn(12, 48, device=device)
    observations = torch.randn(ENVIRONMENTS, 48, device=device)
    took: dict[str, list[float]] = {name: [] for name in ASKS}
    for iteration in range(int(sys.argv[1])):
        seen, rewards = [], torch.zeros(ENVIRONMENTS, device=device)
        for _ in range(STEPS):
            with torch.no_grad(), rlscope.operation("inference"):
                actions = policy(observations)
            with rlscope.operation("simulation"):
                observations = torch.tanh(observations + 0.1 * actions @ mixing)
                rewards += observations[:, 0]
                dones = observations[:, 1] > 0.99
                start_s = time.perf_counter()
                any_done = bool(dones.any().item())  # asks: any_done
                clock(took, "any_done", start_s)
                if any_done:
                    observations = torch.where(dones[:, None], torch.zeros_like(observations), observations)
            seen.append(observations)
        with rlscope.operation("backpropagation"):
            for batch in range(UPDATES):
                loss = policy(seen[batch % STEPS]).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                start_s = time.perf_counter()
                loss.item()  # asks: loss_item
                clock(took, "loss_item", start_s)
        with rlscope.operation("logging"):
            if device == "cuda":
                torch.cuda._sleep(CYCLES)
            start_s = time.perf_counter()
            rewards.cpu()  # asks: rewards_cpu
            clock(took, "rewards_cpu", start_s)
            if device == "cuda":
                torch.cuda._sleep(CYCLES)
                start_s = time.perf_counter()
                torch.cuda.synchronize()  # asks: synchronize
                clock(took, "synchronize", start_s)
        rlscope.report_progress(timesteps=(iteration + 1) * ENVIRONMENTS * STEPS)
    print(json.dumps({name: [len(times), sum(times)] for name, times in took.items()}))


def line_of(name: str) -> int:
    """Return the number of the line that asks."""
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# asks: {name}"))


def known_lines() -> dict[str, Any]:
    """Return the number of each line that asks."""
    return {name: line_of(name) for name in ASKS}


if __name__ == "__main__":
    main()
