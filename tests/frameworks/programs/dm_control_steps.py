"""Steps environments of dm_control through its own interfaces and Gymnasium's; prints what is known, as JSON."""

import json
import sys

import gymnasium
import numpy as np
from dm_control import composer, suite

STEPS = 20


def step_suite() -> dict[str, int]:
    """One step of the environment is ten of the physics; the last one is made in two halves."""
    env = suite.load("walker", "walk", task_kwargs={"random": 1})
    env.step(np.zeros(6))  # a reset, because it is the first
    for _ in range(STEPS):
        env.step(np.zeros(6))
    env.reset()
    return {"operations": 2 + STEPS + 2, "mj_step": STEPS, "mj_step2": STEPS, "mj_step1": STEPS}


def step_composer() -> dict[str, int]:
    """One step of the environment is five of the physics."""
    task = composer.NullTask(composer.Arena())
    task.set_timesteps(control_timestep=0.05, physics_timestep=0.01)
    env = composer.Environment(task, random_state=1)
    env.reset()
    for _ in range(STEPS):
        env.step(np.zeros(0))
    return {"operations": 2 + STEPS}


def step_gymnasium() -> dict[str, int]:
    """Gymnasium's wrappers around Shimmy's around dm_control's own environment."""
    env = gymnasium.make("shimmy:dm_control/walker-walk-v0")
    env.reset(seed=1)
    for _ in range(STEPS):
        env.step(np.zeros(6))
    return {"operations": 2 + STEPS, "mj_step": STEPS, "mj_step2": STEPS, "mj_step1": STEPS}


WAYS = {"suite": step_suite, "composer": step_composer, "gymnasium": step_gymnasium}
print(json.dumps(WAYS[sys.argv[1]]()))
