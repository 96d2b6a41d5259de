"""This file searches a game tree as AlphaZero does: a network's prior and value guide it (PUCT)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rlscope import operation

#: Weight of the prior against what was found in the tree.
EXPLORATION = 1.25
#: Noise of self-play at the root, as AlphaZero has it: its share, and alpha times the number of moves.
NOISE_SHARE, NOISE_MOVES = 0.25, 10


class State(Protocol):
    """A position, as OpenSpiel has it."""

    def current_player(self) -> int:
        """Return whose turn it is: 0 or 1."""

    def legal_actions(self) -> list[int]:
        """Return what may be played."""

    def child(self, action: int) -> "State":
        """Return the position after a move."""

    def is_terminal(self) -> bool:
        """Return whether the game is over."""

    def returns(self) -> list[float]:
        """Return the result of each player in a game that is over: from -1 to 1."""


class Node:
    """A position in the tree, with what was found below each of its moves.

    Attributes:
        state: the position.
        player: whose turn it is; who moved last where the game is over, for nobody is asked then.
        actions: the legal moves, none where the game is over.
        priors: of each move, by the network; they sum to 1.
        visits: of each move.
        totals: of each move: the sum of the values found, to `player`.
        children: of each move, where it has been tried.
    """

    __slots__ = ("actions", "children", "player", "priors", "state", "totals", "visits")

    def __init__(self, state: State) -> None:
        self.state = state
        self.player = state.current_player()
        self.actions: list[int] = []

    def expand(self, policy: NDArray[np.float32]) -> None:
        """Give the position its moves.

        Args:
            policy: probabilities of all actions of the game, illegal ones included.
        """
        with operation("simulation"):
            self.actions = self.state.legal_actions()
        priors = policy[self.actions].astype(np.float64) + 1e-8
        self.priors = priors / priors.sum()
        self.visits = np.zeros(len(self.actions))
        self.totals = np.zeros(len(self.actions))
        self.children: list[Node | None] = [None] * len(self.actions)

    def best(self) -> int:
        """Return the index of the move with the highest upper confidence bound; untried ones count as a draw."""
        values = self.totals / np.maximum(self.visits, 1)
        bonus = EXPLORATION * np.sqrt(self.visits.sum() + 1) * self.priors / (1 + self.visits)
        return int((values + bonus).argmax())


@dataclass(frozen=True)
class Leaf:
    """This says where a simulation left the tree.

    Attributes:
        node: the new position.
        path: the moves that lead there, as nodes and the indices of moves in them, from the root.
    """

    node: Node
    path: list[tuple[Node, int]]


class Search:
    """The tree of one move."""

    def __init__(self, state: State) -> None:
        self.root = Node(state)
        self.simulations = 0

    def select(self) -> Leaf | None:
        """Make a simulation up to where the network is needed; the first asks for the root, which is none.

        Returns:
            The leaf, for `back_up`, or None: the game ended there, and the simulation is complete.
        """
        if not self.root.actions:
            return Leaf(self.root, [])
        path: list[tuple[Node, int]] = []
        node: Node | None = self.root
        while node is not None and node.actions:
            parent, index = node, node.best()
            path.append((parent, index))
            node = parent.children[index]
        if node is None:
            with operation("simulation"):
                node = Node(parent.state.child(parent.actions[index]))
            parent.children[index] = node
        with operation("simulation"):
            if not node.state.is_terminal():
                return Leaf(node, path)
            returns = node.state.returns()
        self._add(path, returns[0], 0)
        return None

    def back_up(self, leaf: Leaf, policy: NDArray[np.float32], value: float) -> None:
        """Complete a simulation.

        Args:
            leaf: where it left the tree.
            policy: probabilities of all actions there.
            value: from -1 to 1, to the player whose turn it is there.
        """
        leaf.node.expand(policy)
        if leaf.path:
            self._add(leaf.path, value, leaf.node.player)

    def _add(self, path: list[tuple[Node, int]], value: float, player: int) -> None:
        self.simulations += 1
        for node, index in path:
            node.visits[index] += 1
            node.totals[index] += value if node.player == player else -value

    def add_noise(self, random: np.random.Generator) -> None:
        """Make self-play try moves that the network does not think of."""
        count = len(self.root.actions)
        noise = random.dirichlet(np.full(count, NOISE_MOVES / count))
        self.root.priors = (1 - NOISE_SHARE) * self.root.priors + NOISE_SHARE * noise
