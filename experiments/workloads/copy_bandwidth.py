"""Copy the states of CartPole on the device: a step that computes nothing, which no step that moves them can beat.

python copy_bandwidth.py --environments 67108864 --seconds 0.3 --repetitions 5 --device cuda --output rows
"""

import argparse
import json
import time
from pathlib import Path

import torch

#: float32 numbers in the state of an environment.
NUMBERS = 4


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=positive, required=True, help="whose states are copied")
    parser.add_argument("--seconds", type=float, required=True, help="of each repetition")
    parser.add_argument("--repetitions", type=positive, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--output", type=Path, required=True, help="directory for rows.jsonl")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device: expected a GPU that PyTorch can use, found none; give --device cpu")
    return arguments


def positive(text: str) -> int:
    """A count."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more, found {number}")
    return number


def main() -> None:
    """Copy, and write one row in which each copied state counts as a step."""
    arguments = parse()
    states = torch.zeros((arguments.environments, NUMBERS), device=arguments.device)
    copies = torch.zeros_like(states)

    def seconds_of(calls: int) -> float:
        synchronize(arguments.device)
        start = time.perf_counter()
        for _ in range(calls):
            copies.copy_(states)
        synchronize(arguments.device)
        return time.perf_counter() - start

    seconds_of(1)  # the first touches memory that was not used before
    calls = max(1, round(arguments.seconds / seconds_of(1)))
    row = {
        "implementation": "Copy",
        "quantity": "simulate",
        "simulator": "CartPole",
        "device": arguments.device,
        "environments": arguments.environments,
        "steps_per_call": 1,
        "state_factor": 1,
        "compute_factor": 1,
        "variant": "",
        "steps": calls * arguments.environments,
        "seconds": [seconds_of(calls) for _ in range(arguments.repetitions)],
        "calls": [calls] * arguments.repetitions,
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "rows.jsonl").write_text(json.dumps(row) + "\n")


def synchronize(device: str) -> None:
    """Wait until the device is done."""
    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
