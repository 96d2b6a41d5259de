"""This file describes a game of OpenSpiel's: how it begins, and what a network sees of it."""

from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from alphazero.search import State


class Rules:
    """A game for two.

    Args:
        name: as OpenSpiel has it, with parameters in parentheses.

    Attributes:
        shape: of what is observed of a position: (planes, rows, columns).
        actions: number of all actions, legal or not.
    """

    def __init__(self, name: str) -> None:
        self._game = pyspiel.load_game(name)
        self.shape = tuple(self._game.observation_tensor_shape())
        self.actions: int = self._game.num_distinct_actions()

    def new_state(self) -> State:
        """Return the position that games begin with."""
        state: State = self._game.new_initial_state()
        return state

    def observe(self, state: Any) -> NDArray[np.float32]:
        """Return an observation of shape (planes, rows, columns)."""
        return np.array(state.observation_tensor(), np.float32).reshape(self.shape)
