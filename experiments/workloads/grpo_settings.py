"""This file holds the options of GRPO that our own file and TRL's trainer share."""

import argparse
from dataclasses import dataclass

from option_types import seed, whole


@dataclass(frozen=True)
class Settings:
    """This is what a training is like.

    Attributes:
        device: where models compute: cpu or cuda.
        layers: of the model.
        width: of the model.
        prompts: in an iteration.
        group: samples of one prompt.
        tokens: the most that an answer has.
        epochs: gradient steps of an update.
        iterations: of the training.
        learning_rate: of the optimizer.
        seed: what random numbers begin with.
    """

    device: str
    layers: int
    width: int
    prompts: int
    group: int
    tokens: int
    epochs: int
    iterations: int
    learning_rate: float
    seed: int

    @property
    def samples(self) -> int:
        """Return the samples of an iteration."""
        return self.prompts * self.group


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of these options."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where models compute (default: cpu)")
    add("--layers", type=whole, default=2, help="of the model (default: 2)")
    add("--width", type=whole, default=64, help="of the model, a multiple of 16 (default: 64)")
    add("--prompts", type=whole, default=8, help="in an iteration (default: 8)")
    add("--group", type=whole, default=8, help="samples of one prompt (default: 8)")
    add("--tokens", type=whole, default=96, help="the most that an answer has (default: 96)")
    add("--epochs", type=whole, default=1, help="gradient steps of an update (default: 1)")
    add("--iterations", type=whole, default=5, help="default: 5")
    add("--learning-rate", type=float, default=1e-3, help="default: 0.001")
    add("--seed", type=seed, default=0, help="default: 0")
    return parser
