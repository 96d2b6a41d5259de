"""This file holds the role of each process of a run, from what it is given to what it returns."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch

import rlscope
from alphazero import training
from alphazero.network import Evaluations, Evaluator, LocalEvaluator, Observations, load
from alphazero.play import Player, Samples
from alphazero.rules import Rules
from alphazero.server import Client, RemoteEvaluator, serve
from alphazero.settings import Settings


@dataclass
class Done:
    """This is what came of a role.

    Attributes:
        began_s, ended_s: its phase, by the clock that all processes of a machine share.
        figures: what there is to say of it.
    """

    began_s: float = 0.0
    ended_s: float = 0.0
    figures: dict[str, float] = field(default_factory=dict)


@contextmanager
def phase(name: str) -> Iterator[Done]:
    """Run the block as a phase of this process, and keep its times too."""
    done = Done(began_s=time.monotonic())
    with rlscope.phase(name):
        yield done
    done.ended_s = time.monotonic()


class Counting:
    """An evaluator that counts."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.batches = 0
        self.positions = 0

    def evaluate(self, observations: Observations) -> Evaluations:
        """Return the network's verdict on all positions at once."""
        self.batches += 1
        self.positions += len(observations)
        return self._evaluator.evaluate(observations)


def self_play(
    settings: Settings, index: int, initial: Path, games: Connection, server: tuple[Connection, Connection] | None
) -> Done:
    """Play against itself, and send the samples of all games when the last is over.

    Args:
        settings: of the run.
        index: which worker it is.
        initial: parameters of the network.
        games: to the training.
        server: connections to it and from it, None where this process evaluates for itself.
    """
    torch.set_num_threads(1)
    rules = Rules(settings.game)
    evaluator: Evaluator
    if server:
        evaluator = RemoteEvaluator(*server, rules.actions)
    else:
        evaluator = LocalEvaluator(load(settings, initial), settings.device)
    counting = Counting(evaluator)
    random = np.random.default_rng([settings.seed, index])
    player = Player(rules, settings.simulations, [counting], random, is_exploring=True)
    with phase("self_play") as done:
        played = [game.samples() for game in player.play(settings.games_per_worker, settings.games_in_flight)]
    if server:
        for connection in server:
            connection.close()
    samples = Samples.joined(played)
    games.send(samples)
    done.figures = {"games": len(played), "moves": len(samples.outcomes)}
    done.figures |= {"evaluations": counting.positions, "batches": counting.batches}
    return done


def inference_server(settings: Settings, initial: Path, clients: Sequence[Client]) -> Done:
    """Evaluate positions for the workers until they have no more."""
    torch.set_num_threads(1)
    rules = Rules(settings.game)
    evaluator = LocalEvaluator(load(settings, initial), settings.device)
    with phase("serving") as done:
        served = serve(clients, evaluator, rules.shape)
    done.figures = {"evaluations": served.positions, "batches": served.batches}
    return done


def train(settings: Settings, initial: Path, trained: Path, games: Sequence[Connection], candidate: Connection) -> Done:
    """Wait for the games of all workers, train on them, and say so to the evaluation.

    Args:
        settings: of the run.
        initial: parameters to begin with.
        trained: where to write the candidate's.
        games: from the workers.
        candidate: to the evaluation.
    """
    torch.set_num_threads(1)
    network = load(settings, initial)
    optimizer = training.optimizer_of(network)
    samples = Samples.joined([worker.recv() for worker in games])
    with phase("training") as done:
        loss = training.train(network, optimizer, samples, settings.training_steps, settings.device, settings.seed)
        torch.save(network.cpu().state_dict(), trained)
    candidate.send(str(trained))
    done.figures = {"loss": loss}
    return done


def evaluate(settings: Settings, initial: Path, candidate: Connection) -> Done:
    """Wait for the candidate, and let it play against the former network, which begins every other game."""
    torch.set_num_threads(1)
    rules = Rules(settings.game)
    trained = Path(candidate.recv())
    with phase("evaluation") as done:
        players = [LocalEvaluator(load(settings, path), settings.device) for path in (trained, initial)]
        random = np.random.default_rng([settings.seed, settings.workers])
        player = Player(rules, settings.simulations, players, random, is_exploring=False)
        games = list(player.play(settings.evaluation_games, settings.evaluation_games))
    wins = sum(game.state.returns()[game.number % 2] > 0 for game in games)
    done.figures = {"games": len(games), "moves": sum(len(game.moves) for game in games), "wins": wins}
    return done
