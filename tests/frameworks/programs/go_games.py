"""Plays Go 5x5 twice from one seed, and once from another; prints the moves, and what is in the samples."""

import json

import numpy as np
import torch
from alphazero.network import LocalEvaluator, Network
from alphazero.play import Game, Player
from alphazero.rules import Rules


def games(seed: int) -> list[Game]:
    torch.manual_seed(0)
    rules = Rules("go(board_size=5,komi=7.5)")
    evaluator = LocalEvaluator(Network(5, channels=8, blocks=1), "cpu")
    player = Player(rules, 8, [evaluator], np.random.default_rng(seed), is_exploring=True)
    return list(player.play(3, in_flight=2))


def main() -> None:
    played = [games(seed) for seed in (0, 0, 1)]
    samples = [game.samples() for game in played[0]]
    print(
        json.dumps(
            {
                "moves": [[game.state.history() for game in each] for each in played],
                "numbers": [game.number for game in played[0]],
                "winners": [game.state.returns() for game in played[0]],
                "shapes": [[each.observations.shape, each.policies.shape, each.outcomes.shape] for each in samples],
                "sums": sorted({round(float(total), 4) for each in samples for total in each.policies.sum(axis=1)}),
                "outcomes": [each.outcomes.tolist() for each in samples],
            }
        )
    )


if __name__ == "__main__":
    main()
