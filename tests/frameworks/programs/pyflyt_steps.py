"""Flies PyFlyt's drones through each of its interfaces; prints what the simulator did by its own count, as JSON."""

import json
import sys

import gymnasium
import numpy as np
from pettingzoo.utils.conversions import parallel_to_aec
from PyFlyt.core import Aviary
from PyFlyt.pz_envs import MAQuadXHoverEnvV2

STEPS = 20
#: A picture is taken every so many steps of the physics, and one before the first.
PHYSICS_STEPS_PER_PICTURE = 6
HOVER = np.array([0.0, 0.0, 0.0, 0.5])


def fly_by_camera() -> dict[str, int]:
    """Gymnasium's interface, with pictures, as a case study has it."""
    env = gymnasium.make("camera_drone:CameraDrone-v0", pixels=32)
    env.action_space.seed(1)
    env.reset(seed=1)
    for _ in range(STEPS):
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        assert not (terminated or truncated)
        assert env.observation_space.contains(observation)
    physics_steps = env.unwrapped.env.physics_steps
    return {
        "operations": STEPS + 2,  # a reset is one in its stage
        "physics_steps": physics_steps,
        "pictures": -(-physics_steps // PHYSICS_STEPS_PER_PICTURE) + 1,
    }


def fly_together() -> dict[str, int]:
    """PettingZoo's interface."""
    env = MAQuadXHoverEnvV2()
    env.reset(seed=1)
    for _ in range(STEPS):
        env.step(dict.fromkeys(env.agents, HOVER))
    return {"operations": STEPS + 2, "physics_steps": env.aviary.physics_steps, "pictures": 0}


def fly_in_turn() -> dict[str, int]:
    """PettingZoo's other interface: agents act one after the other, and the last one's step is the simulator's."""
    drones = MAQuadXHoverEnvV2()
    env = parallel_to_aec(drones)
    env.reset(seed=1)
    for _ in env.agent_iter(len(env.agents) * STEPS):
        env.step(HOVER)
    return {
        "operations": env.num_agents * STEPS + 2,
        "physics_steps": drones.aviary.physics_steps,
        "pictures": 0,
    }


def fly_alone() -> dict[str, int]:
    """The simulator's own interface."""
    aviary = Aviary(start_pos=np.array([[0.0, 0.0, 1.0]]), start_orn=np.zeros((1, 3)), drone_type="quadx")
    for _ in range(STEPS):
        aviary.step()
    return {"operations": STEPS + 2, "physics_steps": aviary.physics_steps, "pictures": 0}


WAYS = {"camera": fly_by_camera, "together": fly_together, "in_turn": fly_in_turn, "alone": fly_alone}
print(json.dumps(WAYS[sys.argv[1]]()))
