"""This file steps robots in space in JAX, by the equations of spatial.h on small arrays; XLA vectorises over robots.

Where spatial.h adds bodies up from the leaves to the torso, an array here has a row for each body: how it moves with
each degree of freedom. Sums over bodies are then products of arrays, and contacts are rows of one array.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from robots.spatial import AXES, FREE, PAIRS, Spatial

MOST_ITERATIONS, MOST_SEARCHES = 20, 8

Numbers = list[Array]


def step(robot: Spatial, q: Numbers, v: Numbers, actions: Numbers) -> tuple[Numbers, Numbers]:
    """Return positions and velocities after one physics step; each is a list of arrays of shape (N,)."""
    one = functools.partial(step_of_one, robot)
    q_after, v_after = jax.vmap(one, in_axes=1, out_axes=1)(jnp.stack(q), jnp.stack(v), jnp.stack(actions))
    return list(q_after), list(v_after)


def vectors(robot: Spatial, name: str) -> Array:
    """Return the vectors of a name as an array of shape (count, 3)."""
    return jnp.array([getattr(robot, f"{name}_{axis}") for axis in AXES]).T


def skew(a: Array) -> Array:
    """Return the matrices of the cross product with `a`; the last axis of `a` is 3."""
    x, y, z = (a[..., i] for i in range(3))
    zero = jnp.zeros_like(x)
    return jnp.stack([jnp.stack([zero, -z, y], -1), jnp.stack([z, zero, -x], -1), jnp.stack([-y, x, zero], -1)], -2)


def moves_with(robot: Spatial) -> Any:
    """Return whether a body moves with a degree of freedom, of shape (bodies, dofs)."""
    moves = np.zeros((len(robot.parent), robot.dofs))
    moves[:, :FREE] = 1
    for body, parent in enumerate(robot.parent):
        if parent >= 0:
            moves[body] = moves[parent]
            moves[body, robot.hinges + body] = 1
    return moves


class Pose:
    """This says where the bodies of one robot are.

    Attributes:
        height: of the torso's origin above the floor.
        axes: of each body, as columns, of shape (bodies, 3, 3).
        place: of each body's hinge, from the torso's origin, of shape (bodies, 3).
        motion: a body's velocity at the torso's origin and its turn, for a degree of freedom's 1, of shape (dofs, 6).
    """

    def __init__(self, robot: Spatial, q: Array) -> None:
        self.robot, self.height = robot, q[2]
        w, u = q[3], q[4:7]
        torso = (w * w - u @ u) * jnp.eye(3) + 2 * (jnp.outer(u, u) + w * skew(u))
        axes, places, motions = [torso], [jnp.zeros(3)], list(jnp.eye(FREE))
        hinge_axes, offsets = vectors(robot, "axis"), vectors(robot, "offset")
        for body, parent in enumerate(robot.parent):
            if parent >= 0:
                position = robot.hinges + body + 1
                axis, angle = axes[parent] @ hinge_axes[body], q[position] - robot.start[position]
                turn = skew(axis)
                axes.append(axes[parent] + (jnp.sin(angle) * turn + (1 - jnp.cos(angle)) * turn @ turn) @ axes[parent])
                places.append(places[parent] + axes[parent] @ offsets[body])
                motions.append(jnp.concatenate([jnp.cross(places[-1], axis), axis]))
        self.axes, self.place, self.motion = jnp.stack(axes), jnp.stack(places), jnp.stack(motions)

    def jacobians(self) -> Array:
        """Return each body's twist for each degree of freedom, of shape (bodies, dofs, 6)."""
        return moves_with(self.robot)[:, :, None] * self.motion

    def at(self, body: Any, places: Array) -> Array:
        """Return places of bodies, of shape (count, 3)."""
        return self.place[body] + jnp.einsum("bij,bj->bi", self.axes[body], places)


def inertias(robot: Spatial, pose: Pose) -> Array:
    """Return the bodies' inertias about the torso's origin, of shape (bodies, 6, 6)."""
    count = len(robot.parent)
    own = np.zeros((count, 3, 3))
    for name, (row, column) in PAIRS.items():
        own[:, row, column] = own[:, column, row] = getattr(robot, f"inertia_{name}")
    masses = jnp.array(robot.mass)[:, None, None]
    centre = skew(pose.at(np.arange(count), vectors(robot, "centre")))
    second = pose.axes @ own @ pose.axes.transpose(0, 2, 1) - masses * centre @ centre
    return jnp.block([[masses * jnp.eye(3), -masses * centre], [masses * centre, second]])


def bias_of(robot: Spatial, pose: Pose, inertia: Array, speeds: Array) -> Array:
    """Return the forces that keep the accelerations zero; the torso's origin stands still here."""
    twists = [jnp.zeros(6).at[3:].set(speeds[3:FREE])]
    pulls = [jnp.zeros(6).at[2].set(robot.gravity)]
    for body, parent in enumerate(robot.parent):
        if parent >= 0:
            own = speeds[robot.hinges + body] * pose.motion[robot.hinges + body]
            above = twists[parent]
            lift = jnp.cross(above[3:], own[:3]) + jnp.cross(above[:3], own[3:])
            twists.append(above + own)
            pulls.append(pulls[parent] + jnp.concatenate([lift, jnp.cross(above[3:], own[3:])]))
    twist, pull = jnp.stack(twists), jnp.stack(pulls)
    momentum = jnp.einsum("bij,bj->bi", inertia, twist)
    torque = jnp.cross(twist[:, 3:], momentum[:, 3:]) + jnp.cross(twist[:, :3], momentum[:, :3])
    wrench = jnp.einsum("bij,bj->bi", inertia, pull)
    wrench += jnp.concatenate([jnp.cross(twist[:, 3:], momentum[:, :3]), torque], 1)
    return jnp.einsum("bdi,bi->d", pose.jacobians(), wrench)


def softened(distance: Array, stabilisation: str, robot: Spatial, inverse_mass: Any) -> tuple[Array, Array]:
    """Return the weight of constraints, 0 where the distance is not negative, and their offset."""
    least, most, width, stiffness = (
        getattr(robot, f"{stabilisation}_{name}") for name in ("least", "most", "width", "stiffness")
    )
    share = jnp.clip(-distance / width, 0, 1)
    blend = jnp.where(share < 0.5, 2 * share**2, 1 - 2 * (1 - share) ** 2)
    strength = least + blend * (most - least)
    weight = jnp.where(distance < 0, strength / ((1 - strength) * inverse_mass), 0)
    return weight, stiffness * strength * distance


def constraints(robot: Spatial, pose: Pose, q: Array, speeds: Array) -> tuple[Array, Array, Array]:
    """Return what each cost is a function of, value = rows @ accelerations + offset, and its weight: rows of shape
    (costs, dofs), four for each point and one for each hinge with limits; offsets; weights.
    """
    bodies = np.array(robot.point_body)
    friction, inverse_mass = jnp.array(robot.point_friction), jnp.array(robot.point_weight)
    place = pose.at(bodies, vectors(robot, "point")) - jnp.array([0, 0, 1]) * jnp.array(robot.point_radius)[:, None]
    gap = pose.height + place[:, 2]
    place = place.at[:, 2].add(-gap / 2)
    weight, offset = softened(gap, "contact", robot, 2 * friction**2 * (1 + friction**2) * inverse_mass)
    ahead = jnp.einsum("pij,pj->pi", pose.axes[bodies], vectors(robot, "ahead"))
    ahead = jnp.where(jnp.array(robot.is_capsule)[:, None], ahead, jnp.array([0.0, 1, 0]))[:, :2]
    ahead /= jnp.maximum(jnp.linalg.norm(ahead, axis=1, keepdims=True), 1e-30)
    jacobians = pose.jacobians()[bodies]
    velocity = jacobians[..., :3] + jnp.cross(jacobians[..., 3:], place[:, None])
    along = friction[:, None] * jnp.einsum("pdi,pi->pd", velocity[..., :2], ahead)
    left = friction[:, None] * (velocity[..., 1] * ahead[:, :1] - velocity[..., 0] * ahead[:, 1:])
    sides = velocity[..., 2] + jnp.stack([along, -along, left, -left])
    rows = [sides.reshape(-1, robot.dofs)]
    offsets = [jnp.tile(offset, 4) + rows[0] @ speeds * robot.contact_damping]

    limited = np.flatnonzero(robot.is_limited)
    above, below = q[limited + 1] - np.array(robot.low)[limited], np.array(robot.high)[limited] - q[limited + 1]
    limit_weight, limit_offset = softened(
        jnp.minimum(above, below), "limit", robot, jnp.array(robot.limit_weight)[limited]
    )
    rows.append(jnp.where(above < below, 1.0, -1.0)[:, None] * jnp.eye(robot.dofs)[limited])
    offsets.append(limit_offset + rows[1] @ speeds * robot.limit_damping)
    return jnp.concatenate(rows), jnp.concatenate(offsets), jnp.concatenate([jnp.tile(weight, 4), limit_weight])


def constrained(mass: Array, rows: Array, offsets: Array, weights: Array, free: Array) -> Array:
    """Return the accelerations that cost least, by Newton's method with an exact search along each direction."""

    def iterate(carried: Any) -> Any:
        count, _, change = carried
        values = rows @ (free + change) + offsets
        counted = jnp.where(values < 0, weights, 0)
        gradient = mass @ change + rows.T @ (counted * values)
        direction = -solved(mass + rows.T @ (counted[:, None] * rows), gradient)
        rates, along = rows @ direction, mass @ direction
        begin, linear, square = gradient @ direction, change @ along, direction @ along
        is_exact = ((weights == 0) | ((values < 0) == (values + rates < 0))).all()

        def search(found: Any) -> Any:
            turn, is_found, length, low, high = found
            after = values + length * rates
            slopes = jnp.where(after < 0, weights * rates, 0)
            first, second = linear + length * square + slopes @ after, square + slopes @ rates
            is_found = is_found | (jnp.abs(first) < -1e-3 * begin)
            low, high = jnp.where(first < 0, length, low), jnp.where(first < 0, high, length)
            further = length - first / second
            further = jnp.where((high >= 0) & ((further <= low) | (further >= high)), (low + high) / 2, further)
            return turn + 1, is_found, jnp.where(is_found, length, further), low, high

        start = (0, is_exact, 1.0, 0.0, -1.0)
        length = jax.lax.while_loop(lambda found: (found[0] < MOST_SEARCHES) & ~found[1], search, start)[2]
        return count + 1, is_exact, change + length * direction

    is_free = ~((rows @ free + offsets < 0) & (weights > 0)).any()
    start = (0, is_free, jnp.zeros_like(free))
    return free + jax.lax.while_loop(lambda found: (found[0] < MOST_ITERATIONS) & ~found[1], iterate, start)[2]


def solved(matrix: Array, vector: Array) -> Array:
    """Return the solution of a system whose matrix is positive definite."""
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(matrix), vector)


def step_of_one(robot: Spatial, q: Array, v: Array, actions: Array) -> tuple[Array, Array]:
    """Return positions and velocities of one robot after one physics step."""
    pose = Pose(robot, q)
    speeds = v.at[3:FREE].set(pose.axes[0] @ v[3:FREE])
    inertia, jacobians = inertias(robot, pose), pose.jacobians()
    mass = jnp.einsum("bdi,bij,bej->de", jacobians, inertia, jacobians) + jnp.diag(jnp.array(robot.armature))
    damping, stiffness = jnp.array(robot.damping), jnp.array(robot.stiffness)
    stretched = jnp.concatenate([jnp.zeros(FREE), q[FREE + 1 :] - jnp.array(robot.rest[FREE:])])
    forces = -bias_of(robot, pose, inertia, speeds) - damping * speeds - stiffness * stretched
    forces = forces.at[jnp.array(robot.motor)].add(jnp.array(robot.gear) * jnp.clip(actions, -1, 1))
    accelerations = constrained(mass, *constraints(robot, pose, q, speeds), solved(mass, forces))
    damped = mass + robot.timestep * jnp.diag(damping)
    speeds += robot.timestep * solved(damped, mass @ accelerations)
    v = speeds.at[3:FREE].set(pose.axes[0].T @ speeds[3:FREE])
    return moved(robot, q, v), v


def moved(robot: Spatial, q: Array, v: Array) -> Array:
    """Return the positions after one physics step at these velocities; the torso turns about an axis that stays."""
    turn = v[3:FREE]
    rate = jnp.linalg.norm(turn)
    half = robot.timestep * rate / 2
    u, by = q[4:7], jnp.where(rate > 0, jnp.sin(half) / jnp.where(rate > 0, rate, 1), 0) * turn
    scalar = q[3] * jnp.cos(half) - u @ by
    vector = q[3] * by + jnp.cos(half) * u + jnp.cross(u, by)
    quaternion = jnp.concatenate([scalar[None], vector])
    hinges = q[FREE + 1 :] + robot.timestep * v[FREE:]
    return jnp.concatenate([q[:3] + robot.timestep * v[:3], quaternion / jnp.linalg.norm(quaternion), hinges])
