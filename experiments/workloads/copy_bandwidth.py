"""Copy CartPole's environments on the device: a step that computes nothing, which no step that moves them can beat.

python copy_bandwidth.py --environments 67108864 --seconds 0.3 --repetitions 5 --device cuda --output rows
"""

import argparse
import json
from pathlib import Path

import torch
from cartpole.limits import check_memory
from cartpole.pytorch import free_bytes
from collect import positive
from option_types import whole
from throughput import Effort, Loop, repetitions_of, warm_up

#: In which an environment is copied: a state of four float32, and how many steps its episode has lasted, up to 500.
PART = torch.int16
PARTS = 4 * torch.float32.itemsize // PART.itemsize + 1
SYNCHRONIZE = {"cpu": lambda: None, "cuda": torch.cuda.synchronize}


def parse() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=whole, required=True, help="how many are copied")
    parser.add_argument("--seconds", type=positive, required=True, help="of each repetition")
    parser.add_argument("--repetitions", type=whole, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--output", type=Path, required=True, help="directory for rows.jsonl")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device: expected a GPU that PyTorch can use, found none; give --device cpu")
    free = free_bytes(torch.device(arguments.device))
    try:
        check_memory("a copy", arguments.environments, 2 * PARTS * PART.itemsize, free, arguments.device)
    except MemoryError as error:
        parser.error(f"--environments: {error}")
    return arguments


def main() -> None:
    """Copy, and write one row in which each copied environment counts as a step."""
    arguments = parse()
    environments = torch.zeros((arguments.environments, PARTS), dtype=PART, device=arguments.device)
    copies = torch.zeros_like(environments)

    loop = Loop(lambda: copies.copy_(environments), SYNCHRONIZE[arguments.device])
    warm_up(loop)
    most_seconds = 4 * arguments.seconds * arguments.repetitions
    calls, seconds = repetitions_of(loop, Effort(arguments.seconds, arguments.repetitions, most_seconds))
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
        "seconds": seconds,
        "calls": [calls] * len(seconds),
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "rows.jsonl").write_text(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
