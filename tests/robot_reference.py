"""What MuJoCo does with the robots: a thousand steps, and what environments come to by random actions or a policy."""

import functools
from dataclasses import dataclass
from typing import Any

import cartpole_reference
import mujoco
import numpy as np
from cartpole.implementation import Policy
from numpy.typing import NDArray
from robots.model import FAR, TASKS, mujoco_model
from robots.policy import Data, Gaussian, make_gaussian
from robots.source import robot_of

Array = NDArray[Any]

STATES = 1000
#: By precision: of mass matrices and bias forces, of velocities (both of the largest number), of positions.
TOLERANCES = {np.float64: (1e-11, 1e-8, 1e-8), np.float32: (1e-5, 1e-3, 1e-5)}

#: What the numbers of random actions, and those around a policy's means, are drawn for, as task.h counts it.
ACTIONS, NOISE = 16, 32
#: Of one drawn in single precision: Box and Muller's angle, up to 2 pi, is rounded, and its radius is up to 6.
NOISE_ERROR = 1e-5
#: By variant: relative errors of factors, layer by layer, and the absolute error of tanh. Single precision rounds at
#: 2^-24, and tanhf is within two units in the last place. Half precision rounds at 2^-11, what tanh becomes as well;
#: the first layer has two such numbers for one.
POLICY_ERRORS = {
    "accurate": ([2**-24] * 3, 2**-22),
    "matrix units": ([2**-20, 2**-11, 2**-11], 2**-10),
}


@dataclass(frozen=True)
class Steps:
    """What MuJoCo does in STATES states of five episodes with random actions; mass matrices and bias forces are in the
    axes of the world."""

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
            if step >= STATES // 5 * 3 and model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
                data.qpos[3:7] = random.normal(size=4)  # it falls on its side or back
            mujoco.mj_normalizeQuat(model, data.qpos)
            data.qvel[:] = random.normal(size=model.nv)
        if step % 4 == 0:
            # MuJoCo cuts actions off at 1. Later episodes are calmer, as an ant that pushes hard is mostly in the air.
            data.ctrl[:] = (1.2, 1.2, 0.4, 0.2, 0)[step // (STATES // 5)] * random.uniform(-1, 1, model.nu)
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        for row, unit in zip(mass, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, row, unit)
        axes = world_axes(model, data)
        before = (data.qpos.copy(), data.qvel.copy(), data.ctrl.copy(), axes @ mass @ axes.T, axes @ data.qfrc_bias)
        contacts = data.ncon
        mujoco.mj_step(model, data)
        rows.append((*before, data.qpos.copy(), data.qvel.copy(), contacts))
    return Steps(*(np.array(column) for column in zip(*rows, strict=True)))


def world_axes(model: Any, data: Any) -> Array:
    """What turns velocities into those about the world's axes: MuJoCo has a free torso's in the torso's."""
    turn = np.eye(model.nv)
    if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
        turn[3:6, 3:6] = data.xmat[1].reshape(3, 3)
    return turn


def moved(name: str, q: Array, v: Array, seconds: float) -> Array:
    """Positions after a time at these speeds, each of a shape (N, …)."""
    after = q.copy()
    for position, speeds in zip(after, v, strict=True):
        mujoco.mj_integratePos(model_of(name), position, speeds, seconds)
    return after


def height_of(name: str, q: Array) -> Array:
    """The torso's height, as the robot's positions have it."""
    return q[numbers_of(name).height]


@functools.cache
def numbers_of(name: str) -> Any:
    """A robot's numbers, which take milliseconds to read."""
    return robot_of(name)


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
    is_upright = task.steepest == FAR or abs(data.qpos[2]) < task.steepest
    is_healthy = bool(task.lowest < height_of(name, data.qpos) < task.highest and is_upright)
    reward = (
        task.forward * (data.qpos[0] - q[0]) / seconds - task.control * (actions**2).sum() + task.alive * is_healthy
    )
    return data.qpos.copy(), data.qvel.copy(), reward, is_healthy


def policy_of(name: str, robot: Any) -> Gaussian:
    """A policy whose first layer normalises a height of 1.25 that varies by 0.05, and whose actions go beyond 1."""
    policy = make_gaussian(robot, 3)
    first, *others = policy.means.weights
    first, bias = first.copy(), policy.means.biases[0].copy()
    first[:, 0] /= 0.05
    bias -= first[:, 0] * robot.start[robot.height]
    deviations = np.linspace(-1, 0.3, len(policy.log_deviations), dtype=np.float32)
    return Gaussian(Policy([first, *others], [bias, *policy.means.biases[1:]]), deviations)


def noise_of(motors: int, environments: int, now: int, seed: int) -> Array:
    """What task.h draws, normally distributed, of shape (N, motors)."""
    words = [cartpole_reference.drawn(environments, now, NOISE + pair, seed) for pair in range(-(-motors // 2))]
    evenly = cartpole_reference.uniform(np.concatenate(words, 1))
    return (np.sqrt(-2 * np.log(1 - evenly[:, ::2])) * np.cos(2 * np.pi * evenly[:, 1::2]))[:, :motors]


def observed(name: str, q: Array, v: Array) -> Array:
    """Gymnasium's observations of states of shape (positions, N) and (dofs, N)."""
    most = TASKS[name].fastest_seen
    return np.concatenate([q[numbers_of(name).height :], v.clip(-most, most)]).T


def check_actions(policy: Gaussian, data: Data, first: int, seed: int, variant: str) -> None:
    """All actions are drawn around the means that the policy gives for what was observed, and have their density."""
    for step, (observations, actions) in enumerate(zip(data.observations, data.actions, strict=False)):
        noise = noise_of(actions.shape[1], len(actions), first + step, seed)
        deviations = np.exp(policy.log_deviations.astype(float))
        expected = cartpole_reference.outputs(policy.means, observations) + deviations * noise
        error = cartpole_reference.output_error(policy.means, observations, *POLICY_ERRORS[variant])
        assert (np.abs(actions - expected) <= error + NOISE_ERROR).all()
        density = -(noise**2) / 2 - policy.log_deviations - np.log(2 * np.pi) / 2
        np.testing.assert_allclose(data.log_probabilities[step], density.sum(1), atol=1e-4)
