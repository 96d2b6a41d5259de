"""This file steps robots in JAX, planar ones by the equations of planar.h; XLA compiles the loop over steps."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from cartpole.limits import check_counts, check_memory
from cartpole.xla import free_bytes, usable_device
from jax import Array

from robots import spatial_xla
from robots.constraints import Problem, constrained
from robots.dynamics import HINGES, Numbers, Pose, X, bias_of, mass_matrix, moved, multiply, solved
from robots.model import FAR, TASKS, Task
from robots.planar import Planar
from robots.source import robot_of
from robots.spatial import Spatial

MOST_STEPS = 1000

#: Of one environment: state, and what lies between XLA's kernels.
BYTES_EACH = 4096


def step(robot: Planar | Spatial, q: Numbers, v: Numbers, actions: Numbers) -> tuple[Numbers, Numbers]:
    """Return positions and velocities after one physics step."""
    if isinstance(robot, Spatial):
        return spatial_xla.step(robot, q, v, actions)
    return planar_step(robot, q, v, actions)


def planar_step(robot: Planar, q: Numbers, v: Numbers, actions: Numbers) -> tuple[Numbers, Numbers]:
    """Return positions and velocities of a planar robot after one physics step."""
    pose = Pose(robot, q)
    mass = mass_matrix(robot, pose)
    forces = [
        -bias - damping * speed - stiffness * (position - rest)
        for bias, damping, speed, stiffness, position, rest in zip(
            bias_of(robot, pose, v), robot.damping, v, robot.stiffness, q, robot.rest, strict=True
        )
    ]
    for dof, gear, action in zip(robot.motor, robot.gear, actions, strict=True):
        forces[dof] = forces[dof] + gear * jnp.clip(action, -1, 1)
    accelerations = constrained(Problem(robot, pose, q, v, mass), solved(robot, mass, forces))
    damped = {
        (row, column): number + (row == column) * robot.timestep * robot.damping[row]
        for (row, column), number in mass.items()
    }
    v = moved(v, jnp.asarray(robot.timestep), solved(robot, damped, multiply(robot, mass, accelerations)))
    return moved(q, jnp.asarray(robot.timestep), v), v


class Batch(NamedTuple):
    """All environments.

    Attributes:
        q: positions, of shape (positions, N).
        v: velocities, of shape (dofs, N).
        lasted: steps of the episodes, of shape (N,).
        rewards: sum over all steps, likewise.
        ends: episodes so far, likewise.
        key: of the random numbers to come.
    """

    q: Array
    v: Array
    lasted: Array
    rewards: Array
    ends: Array
    key: Array


def new_starts(robot: Planar | Spatial, task: Task, count: int, key: Array) -> tuple[Array, Array]:
    """Return positions and velocities of episodes that begin."""
    position_key, speed_key = jax.random.split(key)
    noise = jax.random.uniform(position_key, (robot.positions, count), minval=-1, maxval=1)
    shape = (robot.dofs, count)
    speeds = (
        jax.random.normal(speed_key, shape) if task.has_normal_speeds else 2 * jax.random.uniform(speed_key, shape) - 1
    )
    q = jnp.array(robot.start)[:, None] + task.position_noise * noise
    if isinstance(robot, Spatial):
        q = q.at[3:7].divide(jnp.linalg.norm(q[3:7], axis=0))
    return q, task.speed_noise * speeds


def act(robot: Planar | Spatial, task: Task, batch: Batch) -> Batch:
    """Take a step of the environments with actions drawn evenly; episodes that end begin again."""
    key, action_key, start_key = jax.random.split(batch.key, 3)
    actions = jax.random.uniform(action_key, (len(robot.motor), batch.q.shape[1]), minval=-1, maxval=1)

    def physics(carried: Any, _: None) -> Any:
        q, v, distance = carried
        q, v = step(robot, q, v, list(actions))
        return (q, v, distance + robot.timestep * v[X]), None

    start = (list(batch.q), list(batch.v), jnp.zeros_like(batch.rewards))
    (q, v, distance), _ = jax.lax.scan(physics, start, length=task.physics_steps)
    height = q[robot.height]
    is_healthy = (height > task.lowest) & (height < task.highest)
    if task.steepest < FAR:
        is_healthy &= jnp.abs(q[HINGES]) < task.steepest
    seconds = robot.timestep * task.physics_steps
    rewards = task.forward * distance / seconds - task.control * (actions**2).sum(0) + task.alive * is_healthy
    has_ended = ~is_healthy | (batch.lasted + 1 >= MOST_STEPS)
    new_q, new_v = new_starts(robot, task, batch.q.shape[1], start_key)
    return Batch(
        jnp.where(has_ended, new_q, jnp.stack(q)),
        jnp.where(has_ended, new_v, jnp.stack(v)),
        jnp.where(has_ended, 0, batch.lasted + 1),
        batch.rewards + rewards,
        batch.ends + has_ended,
        key,
    )


class Xla:
    """N environments of a robot as arrays on one device; K steps with random actions are one call."""

    def __init__(self, name: str, environments: int, steps_per_call: int, device: str, seed: int) -> None:
        """Compile the loop and make the environments; see `simulators.Simulation`."""
        check_counts(environments, steps_per_call)
        place = usable_device(device)
        check_memory(f"XLA {name}", environments, BYTES_EACH, free_bytes(place), device)
        robot, task = robot_of(name), TASKS[name]

        @functools.partial(jax.jit, donate_argnums=0)
        def simulate(batch: Batch) -> Batch:
            return jax.lax.scan(lambda batch, _: (act(robot, task, batch), None), batch, length=steps_per_call)[0]

        with jax.default_device(place):
            key, start_key = jax.random.split(jax.random.key(seed))
            counts = jnp.zeros(environments, jnp.int32)
            starts = new_starts(robot, task, environments, start_key)
            batch = Batch(*starts, counts, jnp.zeros(environments), jnp.copy(counts), key)
        self._simulate = simulate
        self.batch = jax.device_put(batch, place)

    def simulate(self) -> None:
        """Take K steps; nothing is kept of them but the states, and each environment's rewards and episodes."""
        self.batch = self._simulate(self.batch)

    def synchronize(self) -> None:
        """Wait for the last call."""
        self.batch.q.block_until_ready()
