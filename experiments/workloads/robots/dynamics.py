"""This file has the dynamics of planar.h on arrays: where bodies are, the mass matrix, bias forces, linear systems.

A number of every environment is an array of shape (N,); bodies and degrees of freedom are loops of Python, so that XLA
sees nothing but operations on such arrays, which it can fuse. Names are those of planar.h, which explains them.
"""

import functools
from typing import Any

import jax.numpy as jnp
from jax import Array

from robots.planar import Planar

X, Z, HINGES = 0, 1, 2

Numbers = list[Array]
#: The lower triangle, of which there are only the entries of a degree of freedom and its ancestors.
Matrix = dict[tuple[int, int], Array]


def ancestors(robot: Planar, dof: int) -> list[int]:
    """Return the degrees of freedom above another, nearest first."""
    if dof > HINGES:
        above = HINGES + robot.parent[dof - HINGES]
    elif dof > X:
        above = dof - 1
    else:
        return []
    return [above, *ancestors(robot, above)]


class Pose:
    """This says where the bodies are."""

    def __init__(self, robot: Planar, q: Numbers) -> None:
        self.robot = robot
        self.height = robot.offset_z[0] + (q[Z] - robot.start[Z])
        self.sine: Numbers = []
        self.cosine: Numbers = []
        self.x: Numbers = []
        self.z: Numbers = []
        angles: Numbers = []
        for body, parent in enumerate(robot.parent):
            angle = robot.sign[body] * (q[HINGES + body] - robot.start[HINGES + body])
            x = z = jnp.zeros_like(angle)
            if parent >= 0:
                offset = (robot.offset_x[body], robot.offset_z[body])
                angle = angle + angles[parent]
                x, z = self.x[parent] + self.along_x(parent, *offset), self.z[parent] + self.along_z(parent, *offset)
            angles.append(angle)
            self.x.append(x)
            self.z.append(z)
            self.sine.append(jnp.sin(angle))
            self.cosine.append(jnp.cos(angle))

    def along_x(self, body: int, x: float, z: float) -> Array:
        """Return x from a body's hinge to a place of it."""
        return self.cosine[body] * x + self.sine[body] * z

    def along_z(self, body: int, x: float, z: float) -> Array:
        """Return z likewise."""
        return self.cosine[body] * z - self.sine[body] * x

    def twists(self, rates: Numbers) -> list[tuple[Array, Array, Array]]:
        """Return every body's twist."""
        twists: list[tuple[Array, Array, Array]] = []
        for body, parent in enumerate(self.robot.parent):
            turn = self.robot.sign[body] * rates[HINGES + body]
            x, z, above = twists[parent] if parent >= 0 else (rates[X], rates[Z], 0)
            twists.append((x - turn * self.z[body], z + turn * self.x[body], above + turn))
        return twists

    def forces(self, wrenches: list[tuple[Any, Any, Any]]) -> Numbers:
        """Return what wrenches on the bodies amount to."""
        forces: list[Any] = [0] * self.robot.dofs
        for body in reversed(range(len(wrenches))):
            parent = self.robot.parent[body]
            x, z, torque = wrenches[body]
            forces[HINGES + body] = self.robot.sign[body] * (torque - self.z[body] * x + self.x[body] * z)
            if parent >= 0:
                wrenches[parent] = tuple(a + b for a, b in zip(wrenches[parent], wrenches[body], strict=True))
        forces[X], forces[Z] = wrenches[0][:2]
        return forces


def mass_matrix(robot: Planar, pose: Pose) -> Matrix:
    """Return the mass matrix, with the armature."""
    matrix: Matrix = {}
    bodies = range(len(robot.parent))
    centres = [(robot.centre_x[body], robot.centre_z[body]) for body in bodies]
    mass = list(robot.mass)
    first_x = [mass[body] * pose.along_x(body, *centres[body]) for body in bodies]
    first_z = [mass[body] * pose.along_z(body, *centres[body]) for body in bodies]
    second: list[Any] = [robot.inertia[body] + mass[body] * (x * x + z * z) for body, (x, z) in enumerate(centres)]
    for body in reversed(bodies):
        parent, hinge, sign = robot.parent[body], HINGES + body, robot.sign[body]
        matrix[hinge, hinge] = second[body] + robot.armature[hinge] + 0 * pose.height
        for above in ancestors(robot, hinge):
            if above >= HINGES:
                x, z = pose.x[body] - pose.x[above - HINGES], pose.z[body] - pose.z[above - HINGES]
                product = second[body] + first_x[body] * x + first_z[body] * z
                matrix[hinge, above] = sign * robot.sign[above - HINGES] * product
        matrix[hinge, X], matrix[hinge, Z] = sign * first_z[body], -sign * first_x[body]
        if parent >= 0:
            x, z = pose.x[body] - pose.x[parent], pose.z[body] - pose.z[parent]
            second[parent] += second[body] + 2 * (x * first_x[body] + z * first_z[body]) + mass[body] * (x * x + z * z)
            first_x[parent] += first_x[body] + mass[body] * x
            first_z[parent] += first_z[body] + mass[body] * z
            mass[parent] += mass[body]
    for dof in (X, Z):
        matrix[dof, dof] = mass[0] + robot.armature[dof] + 0 * pose.height
    matrix[Z, X] = 0 * pose.height
    return matrix


def bias_of(robot: Planar, pose: Pose, v: Numbers) -> Numbers:
    """Return the forces that keep the robot's accelerations zero."""
    wrenches: list[tuple[Any, Any, Any]] = []
    pulls: list[tuple[Any, Any]] = []
    turns: Numbers = []
    for body, parent in enumerate(robot.parent):
        turn = robot.sign[body] * v[HINGES + body]
        pull_x, pull_z = jnp.zeros_like(turn), jnp.full_like(turn, robot.gravity)
        if parent >= 0:
            square = turns[parent] * turns[parent]
            turn = turn + turns[parent]
            pull_x = pulls[parent][0] - square * (pose.x[body] - pose.x[parent])
            pull_z = pulls[parent][1] - square * (pose.z[body] - pose.z[parent])
        turns.append(turn)
        pulls.append((pull_x, pull_z))
        x = pose.along_x(body, robot.centre_x[body], robot.centre_z[body])
        z = pose.along_z(body, robot.centre_x[body], robot.centre_z[body])
        force_x = robot.mass[body] * (pull_x - turn * turn * x)
        force_z = robot.mass[body] * (pull_z - turn * turn * z)
        wrenches.append((force_x, force_z, (pose.z[body] + z) * force_x - (pose.x[body] + x) * force_z))
    return pose.forces(wrenches)


def multiply(robot: Planar, matrix: Matrix, vector: Numbers) -> Numbers:
    """Return the product of a symmetric matrix and a vector."""
    product = [matrix[dof, dof] * number for dof, number in enumerate(vector)]
    for dof in range(robot.dofs):
        for above in ancestors(robot, dof):
            product[dof] = product[dof] + matrix[dof, above] * vector[above]
            product[above] = product[above] + matrix[dof, above] * vector[dof]
    return product


def solved(robot: Planar, matrix: Matrix, vector: Numbers) -> Numbers:
    """Solve a system whose matrix is positive definite: factors it from the leaves on, so that no zero is filled."""
    factors, solution = dict(matrix), list(vector)
    inverses: dict[int, Array] = {}
    for dof in reversed(range(robot.dofs)):
        inverses[dof] = 1 / factors[dof, dof]
        above_all = ancestors(robot, dof)
        for above in above_all:
            share = factors[dof, above] * inverses[dof]
            for further in (above, *ancestors(robot, above)):
                factors[above, further] = factors[above, further] - share * factors[dof, further]
        for above in above_all:
            factors[dof, above] = factors[dof, above] * inverses[dof]
            solution[above] = solution[above] - factors[dof, above] * solution[dof]
    for dof in range(robot.dofs):
        solution[dof] = solution[dof] * inverses[dof]
        for above in ancestors(robot, dof):
            solution[dof] = solution[dof] - factors[dof, above] * solution[above]
    return solution


def dot(left: Numbers, right: Numbers) -> Array:
    """Return a scalar product."""
    return functools.reduce(jnp.add, [a * b for a, b in zip(left, right, strict=True)])


def moved(numbers: Numbers, step: Array, direction: Numbers) -> Numbers:
    """Return numbers further along a direction."""
    return [a + step * b for a, b in zip(numbers, direction, strict=True)]
