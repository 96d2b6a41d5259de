"""This file plays many games at once: each makes a simulation, then all their positions are evaluated together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from alphazero.network import Evaluator, Observations
from alphazero.rules import Rules
from alphazero.search import Leaf, Search, State
from rlscope import operation

#: So many moves of a game are drawn by their visits, so that games differ; later ones are the most visited.
DRAWN_MOVES = 10


@dataclass(frozen=True)
class Samples:
    """These are the samples that games leave for training.

    Attributes:
        observations: of each position, of shape (n, planes, size, size).
        policies: share of each action in the search's visits, of shape (n, actions).
        outcomes: of the game to the player whose turn it was, of shape (n,).
    """

    observations: Observations
    policies: NDArray[np.float32]
    outcomes: NDArray[np.float32]

    @classmethod
    def joined(cls, parts: Sequence["Samples"]) -> "Samples":
        """Return all of them, in one."""
        return cls(
            np.concatenate([part.observations for part in parts]),
            np.concatenate([part.policies for part in parts]),
            np.concatenate([part.outcomes for part in parts]),
        )


@dataclass(eq=False)
class Game:
    """One in flight.

    Attributes:
        state: where it stands.
        number: which game it is.
        search: of the next move.
        moves: positions so far, as observation, policy and player.
    """

    state: State
    number: int
    search: Search
    moves: list[tuple[Observations, NDArray[np.float32], int]] = field(default_factory=list)

    def samples(self) -> Samples:
        """Return the samples of all moves, once the game is over."""
        observations, policies, players = zip(*self.moves, strict=True)
        returns = np.array(self.state.returns(), np.float32)
        return Samples(np.stack(observations), np.stack(policies), returns[list(players)])


class Player:
    """Plays games to their end, several at a time.

    Args:
        rules: of the game.
        simulations: of each search.
        evaluators: of positions; self-play has one.
        random: draws moves and noise.
        is_exploring: whether noise makes the search try moves that the network does not think of.
    """

    def __init__(
        self,
        rules: Rules,
        simulations: int,
        evaluators: Sequence[Evaluator],
        random: np.random.Generator,
        *,
        is_exploring: bool,
    ) -> None:
        self._rules, self._simulations = rules, simulations
        self._evaluators, self._random = evaluators, random
        self._is_exploring = is_exploring

    def play(self, games: int, in_flight: int) -> Iterator[Game]:
        """Play so many games, at most so many at a time, and yield each when it is over.

        The evaluators take turns in moves, and games in who begins: each looks from one side.
        """
        waiting = iter(range(games))
        running = [self._begin(number) for number in islice(waiting, in_flight)]
        while running:
            with operation("mcts"):
                self._search(running)
            for game in running:
                self._move(game)
            over = [game for game in running if game.state.is_terminal()]
            yield from over
            running = [game for game in running if game not in over]
            running += [self._begin(number) for number in islice(waiting, len(over))]

    def _begin(self, number: int) -> Game:
        with operation("simulation"):
            state = self._rules.new_state()
        return Game(state, number, Search(state))

    def _search(self, games: list[Game]) -> None:
        """Make the simulations of one move of each game, one of each at a time."""
        noisy = games if self._is_exploring else []
        while leaves := [found for game in games if (found := self._leaf(game))]:
            for index, evaluator in enumerate(self._evaluators):
                self._evaluate(evaluator, [leaf for leaf in leaves if self._side(leaf[0]) == index])
            for game in noisy:
                game.search.add_noise(self._random)
            noisy = []

    def _leaf(self, game: Game) -> tuple[Game, Leaf] | None:
        """Return where the game's next simulation leaves the tree, None once it has them all."""
        while game.search.simulations < self._simulations:
            if leaf := game.search.select():
                return game, leaf
        return None

    def _side(self, game: Game) -> int:
        """Return which evaluator looks for the move."""
        return (game.search.root.player + game.number) % len(self._evaluators)

    def _evaluate(self, evaluator: Evaluator, leaves: list[tuple[Game, Leaf]]) -> None:
        if not leaves:
            return
        with operation("simulation"):
            observations = np.stack([self._rules.observe(leaf.node.state) for _, leaf in leaves])
        policies, values = evaluator.evaluate(observations)
        for (game, leaf), policy, value in zip(leaves, policies, values, strict=True):
            game.search.back_up(leaf, policy, float(value))

    def _move(self, game: Game) -> None:
        root = game.search.root
        share = root.visits / root.visits.sum()
        is_drawn = len(game.moves) < DRAWN_MOVES
        index = int(self._random.choice(len(share), p=share) if is_drawn else share.argmax())
        policy = np.zeros(self._rules.actions, np.float32)
        policy[root.actions] = share
        with operation("simulation"):
            game.moves.append((self._rules.observe(root.state), policy, root.player))
            game.state = root.state.child(root.actions[index])
        game.search = Search(game.state)
