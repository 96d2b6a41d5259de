"""This file holds PyFlyt's drone that flies through gates, seen by its camera: the stand-in for AirLearning.

gymnasium.make("camera_drone:CameraDrone-v0", pixels=64)
"""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import PyFlyt
from PyFlyt.gym_envs.quadx_envs.quadx_gates_env import QuadXGatesEnv

#: Of the drone itself, and where the next gate is from there.
STATE_SIZE = 21 + 3

Colour = tuple[int, int, int, int]
GREEN: Colour = (0, 1, 0, 1)
YELLOW: Colour = (1, 1, 0, 1)
RED: Colour = (1, 0, 0, 1)


class CameraDrone(QuadXGatesEnv):
    """One picture (red, green, blue, alpha) and one vector instead of a list of gates, which few algorithms can read.

    It also mends what PyFlyt 0.29.0 gets wrong: it looks for the gates in a folder that it does not have, and colours
    those of the first simulator in the process, whichever is meant.

    Args:
        pixels: Width and height of the picture.
    """

    state: Any  # a vector and a list of gates for PyFlyt, a picture and a vector from then on

    def __init__(self, pixels: int = 64) -> None:
        super().__init__(camera_resolution=(pixels, pixels))
        self.gate_obj_dir = str(Path(PyFlyt.__path__[0]) / "models" / "race_gate.urdf")
        self.observation_space = gymnasium.spaces.Dict(
            {
                "camera": gymnasium.spaces.Box(0, 255, (4, pixels, pixels), np.uint8),
                "state": gymnasium.spaces.Box(-np.inf, np.inf, (STATE_SIZE,), np.float64),
            }
        )

    def compute_state(self) -> None:
        """Compute what is observed; this is called after each step of the physics."""
        super().compute_state()
        state = np.concatenate([self.state["attitude"], self.state["target_deltas"][0]])
        self.state = {"camera": self.state["rgba_cam"], "state": state}

    def colour_first_gate(self) -> None:
        """Make the next gate green, if there is one."""
        for gate in self.gates[:1]:
            self._colour(gate, GREEN)

    def colour_other_gate(self) -> None:
        """Make a later gate yellow."""
        for gate in self.gates[1:]:
            self._colour(gate, YELLOW)

    def colour_dead_gate(self, gate: int) -> None:
        """Make a gate red that has been flown through."""
        self._colour(gate, RED)

    def _colour(self, gate: int, colour: Colour) -> None:
        for link in range(self.env.getNumJoints(gate)):
            self.env.changeVisualShape(gate, linkIndex=link, rgbaColor=colour)


gymnasium.register("CameraDrone-v0", entry_point=f"{__name__}:CameraDrone")
