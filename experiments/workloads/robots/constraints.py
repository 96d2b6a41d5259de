"""This file has the contacts and limits of planar.h on arrays, and the accelerations with which they cost least."""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from robots.dynamics import HINGES, Matrix, Numbers, Pose, X, Z, ancestors, dot, moved, multiply, solved
from robots.planar import Planar

MOST_ITERATIONS, MOST_SEARCHES = 20, 8


def softened(distance: Array, kind: str, robot: Planar, inverse_mass: float) -> tuple[Array, Array]:
    """Return weight and offset of a constraint of a kind, "contact" or "limit"."""
    least, most, width, stiffness = (
        getattr(robot, f"{kind}_{name}") for name in ("least", "most", "width", "stiffness")
    )
    share = jnp.minimum(-distance / width, 1)
    blend = jnp.where(share < 0.5, 2 * share**2, 1 - 2 * (1 - share) ** 2)
    strength = least + blend * (most - least)
    return jnp.where(distance < 0, strength / ((1 - strength) * inverse_mass), 0), stiffness * strength * distance


class Contact(NamedTuple):
    """A point, there where it touches the floor: a place, a weight, an offset, a body and its friction."""

    body: int
    friction: float
    x: Array
    z: Array
    weight: Array
    offset: Array

    def speeds(self, twists: Any) -> tuple[Array, Array]:
        """Return how its body moves there: away from the floor, and along it times the friction."""
        x, z, turn = twists[self.body]
        return z - turn * self.x, self.friction * (x + turn * self.z)


def contacts(robot: Planar, pose: Pose) -> Iterator[Contact]:
    """Yield all points."""
    for body, along_x, along_z, radius, friction, inverse_mass in zip(
        robot.point_body,
        robot.point_x,
        robot.point_z,
        robot.point_radius,
        robot.point_friction,
        robot.point_weight,
        strict=True,
    ):
        lowest = pose.z[body] + pose.along_z(body, along_x, along_z) - radius
        gap = pose.height + lowest
        square = friction**2
        soft = softened(gap, "contact", robot, 2 * square * (1 + square) * inverse_mass)
        yield Contact(body, friction, pose.x[body] + pose.along_x(body, along_x, along_z), lowest - gap / 2, *soft)


class Limit(NamedTuple):
    """A degree of freedom, there where it is beyond a limit: the direction back, a weight and an offset."""

    dof: int
    direction: Array
    weight: Array
    offset: Array


def limits(robot: Planar, q: Numbers) -> Iterator[Limit]:
    """Yield all degrees of freedom that have limits."""
    for dof, is_limited in enumerate(robot.is_limited):
        if is_limited:
            above, below = q[dof] - robot.low[dof], robot.high[dof] - q[dof]
            distance = jnp.minimum(above, below)
            soft = softened(distance, "limit", robot, robot.limit_weight[dof])
            yield Limit(dof, jnp.where(above < below, 1.0, -1.0), *soft)


class Problem:
    """The accelerations make what this costs least."""

    def __init__(self, robot: Planar, pose: Pose, q: Numbers, v: Numbers, mass: Matrix) -> None:
        self.robot, self.pose, self.v, self.mass = robot, pose, v, mass
        self.contacts, self.limits = list(contacts(robot, pose)), list(limits(robot, q))

    def values(self, accelerations: Numbers, direction: Numbers | None = None) -> Iterator[tuple[Array, ...]]:
        """Yield of each cost its weight and what it is half the square of where negative; along a direction, if it is
        given, also how fast that grows.
        """
        damped = [a + self.robot.contact_damping * v for a, v in zip(accelerations, self.v, strict=True)]
        twists = self.pose.twists(damped)
        along = None if direction is None else self.pose.twists(direction)
        for contact in self.contacts:
            normal, sliding = contact.speeds(twists)
            rates = (jnp.zeros_like(normal),) * 2 if along is None else contact.speeds(along)
            for weight, factor in ((2, 0), (1, 1), (1, -1)):
                value = normal + contact.offset + factor * sliding
                yield weight * contact.weight, value, rates[0] + factor * rates[1]
        for limit in self.limits:
            dof = limit.dof
            value = limit.direction * (accelerations[dof] + self.robot.limit_damping * self.v[dof]) + limit.offset
            yield limit.weight, value, limit.direction * (0 if direction is None else direction[dof])

    def derivatives(self, accelerations: Numbers, change: Numbers) -> tuple[Numbers, Matrix]:
        """Return gradient and second derivatives."""
        robot, pose = self.robot, self.pose
        wrenches: list[tuple[Any, Any, Any]] = [(0, 0, 0)] * len(robot.parent)
        seconds: list[list[Any]] = [[0] * 6 for _ in robot.parent]  # xx xz zz xt zt tt
        rows = self.values(accelerations)
        for contact in self.contacts:
            (middle, normal, _), (right, right_value, _), (left, left_value, _) = (next(rows) for _ in range(3))
            middle, right, left = (
                jnp.where(value < 0, weight, 0)
                for weight, value in ((middle, normal), (right, right_value), (left, left_value))
            )
            force_z = middle * normal + right * right_value + left * left_value
            force_x = contact.friction * (right * right_value - left * left_value)
            x, z = contact.x, contact.z
            added = (force_x, force_z, z * force_x - x * force_z)
            wrenches[contact.body] = tuple(a + b for a, b in zip(wrenches[contact.body], added, strict=True))
            pp, pn = contact.friction**2 * (right + left), contact.friction * (right - left)
            nn = middle + right + left
            turn_p, turn_n = z * pp - x * pn, z * pn - x * nn
            parts = (pp, pn, nn, turn_p, turn_n, z * turn_p - x * turn_n)
            seconds[contact.body] = [a + b for a, b in zip(seconds[contact.body], parts, strict=True)]
        pushes = pose.forces(wrenches)
        gradient = [a + b for a, b in zip(multiply(robot, self.mass, change), pushes, strict=True)]
        hessian = dict(self.mass)
        for body in reversed(range(len(robot.parent))):
            parent, hinge = robot.parent[body], HINGES + body
            xx, xz, zz, xt, zt, tt = seconds[body]
            by_x = robot.sign[body] * (xt - pose.z[body] * xx + pose.x[body] * xz)
            by_z = robot.sign[body] * (zt - pose.z[body] * xz + pose.x[body] * zz)
            by_turn = robot.sign[body] * (tt - pose.z[body] * xt + pose.x[body] * zt)
            for above in (hinge, *ancestors(robot, hinge)):
                other = above - HINGES
                part = by_x if above == X else by_z
                if other >= 0:
                    part = robot.sign[other] * (by_turn - pose.z[other] * by_x + pose.x[other] * by_z)
                hessian[hinge, above] = hessian[hinge, above] + part
            if parent >= 0:
                seconds[parent] = [a + b for a, b in zip(seconds[parent], seconds[body], strict=True)]
        for place, part in (((X, X), 0), ((Z, X), 1), ((Z, Z), 2)):
            hessian[place] = hessian[place] + seconds[0][part]
        for limit, (weight, value, _) in zip(self.limits, rows, strict=True):
            weight = jnp.where(value < 0, weight, 0)
            gradient[limit.dof] = gradient[limit.dof] + limit.direction * weight * value
            hessian[limit.dof, limit.dof] = hessian[limit.dof, limit.dof] + weight
        return gradient, hessian

    def pattern(self, accelerations: Numbers) -> list[Array]:
        """Return which costs count."""
        return [(value < 0) & (weight > 0) for weight, value, _ in self.values(accelerations)]


def constrained(problem: Problem, free: Numbers) -> Numbers:
    """Return the accelerations that cost least, by Newton's method with an exact search along each direction. All
    environments go on until the last one is done; those that are done stay as they are.
    """
    robot = problem.robot

    def iterate(carried: Any) -> Any:
        count, is_done, change = carried
        accelerations = [a + b for a, b in zip(free, change, strict=True)]
        gradient, hessian = problem.derivatives(accelerations, change)
        direction = solved(robot, hessian, [-number for number in gradient])
        along = multiply(robot, problem.mass, direction)
        begin, linear, square = dot(gradient, direction), dot(change, along), dot(direction, along)
        rows = list(problem.values(accelerations, direction))

        def slope(step: Array) -> tuple[Array, Array]:
            first, second = linear + step * square, square
            for weight, value, rate in rows:
                counted = jnp.where(value + step * rate < 0, weight * rate, 0)
                first, second = first + counted * (value + step * rate), second + counted * rate
            return first, second

        is_exact = functools.reduce(
            jnp.logical_and,
            [(weight == 0) | ((value < 0) == (value + rate < 0)) for weight, value, rate in rows],
        )

        def search(found: Any) -> Any:
            turn, is_found, step, low, high = found
            first, second = slope(step)
            is_found = is_found | (jnp.abs(first) < -1e-3 * begin)
            low, high = jnp.where(first < 0, step, low), jnp.where(first < 0, high, step)
            further = step - first / second
            further = jnp.where((high >= 0) & ((further <= low) | (further >= high)), (low + high) / 2, further)
            return turn + 1, is_found, jnp.where(is_found, step, further), low, high

        one = jnp.ones_like(square)
        start = (0, is_exact | is_done, one, 0 * one, -one)
        step = jax.lax.while_loop(lambda found: (found[0] < MOST_SEARCHES) & ~found[1].all(), search, start)[2]
        step = jnp.where(is_done, 0, step)
        return count + 1, is_done | is_exact, moved(change, step, direction)

    nothing = [jnp.zeros_like(number) for number in free]
    is_free = ~functools.reduce(jnp.logical_or, problem.pattern(free))
    start = (0, is_free, nothing)
    change = jax.lax.while_loop(lambda carried: (carried[0] < MOST_ITERATIONS) & ~carried[1].all(), iterate, start)[2]
    return [a + b for a, b in zip(free, change, strict=True)]
