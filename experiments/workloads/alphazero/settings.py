"""This file holds the settings of one generation of self-play, training and evaluation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The options of a run; every process is given all of them.

    Attributes:
        board_size: Go is played on so many by so many points.
        workers: processes that play against themselves.
        inference: "worker" evaluates positions in each worker, "server" in one process for all of them.
        games_per_worker: to be played to their end.
        games_in_flight: of them at a time, whose positions a worker has evaluated together.
        simulations: of each search: so many are made for each move.
        channels: of the network's convolutions.
        blocks: residual blocks of the network.
        training_steps: minibatches of the training.
        evaluation_games: of the candidate against the former network.
        device: where networks compute: "cpu" or "cuda".
        seed: of networks, games and minibatches.
    """

    board_size: int
    workers: int
    inference: str
    games_per_worker: int
    games_in_flight: int
    simulations: int
    channels: int
    blocks: int
    training_steps: int
    evaluation_games: int
    device: str
    seed: int

    @property
    def game(self) -> str:
        """Return the game's name in OpenSpiel."""
        return f"go(board_size={self.board_size},komi=7.5)"
