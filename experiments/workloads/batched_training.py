"""This file holds the options of trainings whose environments are stepped all at once, and what they print."""

import argparse
import json
from collections.abc import Sequence

from option_types import seed, whole


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser to which a script adds its own options."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=whole, default=4096, help="that are stepped at once (4096)")
    parser.add_argument("--steps", type=whole, default=32, help="of each environment in a rollout (32)")
    parser.add_argument("--seed", type=seed, default=0)
    parser.add_argument("--total-timesteps", type=whole, default=50_000_000, help="of the whole training (50000000)")
    parser.add_argument("--stop-after", type=whole, required=True, help="end after so many timesteps of it")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    return parser


def print_iterations(environments: int, physics_steps: int, seconds: Sequence[float]) -> None:
    """Print a line of JSON, for programs.

    Args:
        environments: that were stepped at once.
        physics_steps: that one step of an environment takes.
        seconds: of each iteration.
    """
    print(json.dumps({"environments": environments, "physics_steps": physics_steps, "iteration_s": list(seconds)}))
