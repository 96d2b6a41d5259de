"""AlphaZero-style learning of Go in many processes that share one device: self-play, training, evaluation.

    python self_play.py --workers 2 --inference server --device cpu

Each worker plays against itself; positions are evaluated by each for itself, or by one server for all. A process of its
own trains on the games of all workers, then another lets the new network play against the former. Prints one line of
JSON, and ends with status 1 if a process failed.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import torch
from alphazero.generation import run
from alphazero.group import ProcessFailedError
from alphazero.settings import Settings
from option_types import whole


def parse() -> Settings:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--board-size", type=whole, default=9, help="Go on so many by so many points (default: 9)")
    add("--workers", type=whole, default=2, help="processes that play (default: 2)")
    add("--inference", choices=("worker", "server"), default="worker", help="who evaluates positions")
    add("--games-per-worker", type=whole, default=4, help="default: 4")
    add("--games-in-flight", type=whole, default=4, help="of a worker at a time, evaluated together (default: 4)")
    add("--simulations", type=whole, default=32, help="of the search for each move (default: 32)")
    add("--channels", type=whole, default=64, help="of the network's convolutions (default: 64)")
    add("--blocks", type=whole, default=2, help="residual blocks of the network (default: 2)")
    add("--training-steps", type=whole, default=40, help="minibatches (default: 40)")
    add("--evaluation-games", type=whole, default=2, help="of the new network against the former (default: 2)")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where networks compute (default: cpu)")
    add("--seed", type=int, default=0, help="default: 0")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("expected a GPU for --device cuda, but PyTorch finds none here; give --device cpu")
    return Settings(**vars(arguments))


def main() -> int:
    """Run as the command line says."""
    settings = parse()
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = run(settings, Path(folder))
        except ProcessFailedError as error:
            print(f"self_play.py: {error}", file=sys.stderr)
            return 1
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
