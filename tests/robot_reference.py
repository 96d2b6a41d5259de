"""What MuJoCo does with the planar robots: a thousand steps, and what environments with random actions come to."""

import functools
from dataclasses import dataclass
from typing import Any

import cartpole_reference
import mujoco
import numpy as np
from numpy.typing import NDArray
from robots.model import TASKS, mujoco_model

Array = NDArray[Any]

STATES = 1000
#: By precision: of mass matrices and bias forces, of velocities (both of the largest number), of positions.
TOLERANCES = {np.float64: (1e-11, 1e-8, 1e-8), np.float32: (1e-5, 1e-3, 1e-5)}

#: What the numbers of actions are drawn for, as task.h counts it.
ACTIONS = 16


@dataclass(frozen=True)
class Steps:
    """What MuJoCo does in STATES states of five episodes with random actions."""

    q: Array
    v: Array
    actions: Array
    masses: Array
    biases: Array
    next_q: Array
    next_v: Array
    contacts: Array


@functools.cache
def reference(name: str) -> Steps:
    model = model_of(name)
    data = mujoco.MjData(model)
    random = np.random.default_rng(5)
    rows = []
    for step in range(STATES):
        if step % (STATES // 5) == 0:
            mujoco.mj_resetData(model, data)
            data.qpos[:] += random.uniform(-0.1, 0.1, model.nq)
            data.qvel[:] = random.normal(size=model.nv)
        if step % 4 == 0:
            data.ctrl[:] = random.uniform(-1.2, 1.2, model.nu)  # MuJoCo cuts actions off at 1
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        for row, unit in zip(mass, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, row, unit)
        before = (data.qpos.copy(), data.qvel.copy(), data.ctrl.copy(), mass, data.qfrc_bias.copy())
        contacts = data.ncon
        mujoco.mj_step(model, data)
        rows.append((*before, data.qpos.copy(), data.qvel.copy(), contacts))
    return Steps(*(np.array(column) for column in zip(*rows, strict=True)))


@functools.cache
def model_of(name: str) -> Any:
    """A model that nobody changes."""
    return mujoco_model(name)


def actions_of(name: str, environments: int, now: int, seed: int) -> Array:
    """The actions that task.h draws, of shape (N, motors)."""
    motors = model_of(name).nu
    words = [cartpole_reference.drawn(environments, now, ACTIONS + block, seed) for block in range(-(-motors // 4))]
    return 2 * cartpole_reference.uniform(np.concatenate(words, 1)[:, :motors]) - 1


def environment_step(name: str, q: Array, v: Array, actions: Array) -> tuple[Array, Array, float, bool]:
    """Position, velocity, reward, and whether the robot is healthy, after one step of an environment as Gymnasium's
    documentation states it."""
    model, task = model_of(name), TASKS[name]
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, actions
    mujoco.mj_step(model, data, task.physics_steps)
    seconds = task.physics_steps * model.opt.timestep
    is_healthy = bool(task.lowest < data.qpos[1] < task.highest and abs(data.qpos[2]) < task.steepest)
    reward = (
        task.forward * (data.qpos[0] - q[0]) / seconds - task.control * (actions**2).sum() + task.alive * is_healthy
    )
    return data.qpos.copy(), data.qvel.copy(), reward, is_healthy
