"""This file holds the options that the scripts of the framework comparison share."""

import argparse
from dataclasses import replace

from hyperparameters import ALGORITHMS, Hyperparameters


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser to which a script adds its own options."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algo", choices=sorted(ALGORITHMS), required=True)
    parser.add_argument("--env", default="Walker2DBulletEnv-v0", help="a Gymnasium environment id")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--total-timesteps", type=int, default=2_000_000, help="length of the whole training")
    parser.add_argument("--stop-after", type=int, help="end after this many timesteps of it (default: train it all)")
    parser.add_argument("--warm-up", type=int, help="timesteps with random actions (default: as published)")
    parser.add_argument("--steps", type=int, help="timesteps of an iteration (default: as published)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where the framework computes")
    return parser


def chosen(arguments: argparse.Namespace) -> Hyperparameters:
    """Return the hyper-parameters of `--algo`, changed by `--warm-up` and `--steps`; fewer steps have fewer updates."""
    algorithm = ALGORITHMS[arguments.algo]
    if arguments.warm_up is not None:
        algorithm = replace(algorithm, warm_up=arguments.warm_up)
    if arguments.steps is not None:
        updates = max(1, round(arguments.steps * algorithm.updates / algorithm.steps))
        algorithm = replace(algorithm, steps=arguments.steps, updates=updates)
    return algorithm
