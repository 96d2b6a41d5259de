"""This file reads a planar robot, whose numbers planar.h is compiled with, from MuJoCo's model of it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import mujoco
import numpy as np

from robots.model import Robot, check, common_numbers, ends_of, floats


@dataclass(frozen=True, kw_only=True)
class Planar(Robot):
    """A torso with two slides and a hinge, and bodies that hang on one hinge each; all hinges turn about the y axis.

    Attributes:
        offset_x: from the parent's hinge to this body's.
        offset_z: likewise; the torso's is its height above the floor.
        centre_x: from a body's hinge to its centre of mass.
        centre_z: likewise.
        inertia: of each body about its centre, about the y axis.
        sign: +1 where a hinge turns about +y, -1 about -y.
        point_x: from its body's hinge.
        point_z: likewise.
    """

    height: ClassVar[int] = 1

    offset_x: list[float]
    offset_z: list[float]
    centre_x: list[float]
    centre_z: list[float]
    inertia: list[float]
    sign: list[float]
    point_x: list[float]
    point_z: list[float]


def planar_of(model: Any) -> Planar:
    """Return a planar robot's numbers.

    Raises:
        ValueError: it is none, or it has what planar.h does not compute; the message says what.
    """
    check_planar(model)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = range(1, model.nbody)
    parents = [int(model.body_parentid[body]) - 1 for body in bodies]
    anchors = data.xanchor[2:]
    offsets = np.array([anchors[i] - anchors[parent] if i else anchors[0] for i, parent in enumerate(parents)])
    centres = data.xipos[1:] - anchors
    rotations = data.ximat[1:].reshape(-1, 3, 3)
    inertias = np.einsum("bi,bi,bi->b", rotations[:, 1], model.body_inertia[1:], rotations[:, 1])
    ends = ends_of(model, data)
    points = np.array([end.place - anchors[end.body - 1] for end in ends])
    return Planar(
        **common_numbers(model, 2, [-1, *range(model.nbody - 1)], ends),
        parent=parents,
        offset_x=floats(offsets[:, 0]),
        offset_z=floats(offsets[:, 2]),
        centre_x=floats(centres[:, 0]),
        centre_z=floats(centres[:, 2]),
        mass=floats(model.body_mass[1:]),
        inertia=floats(inertias),
        sign=floats(data.xaxis[2:, 1]),
        point_x=floats(points[:, 0]),
        point_z=floats(points[:, 2]),
    )


def check_planar(model: Any) -> None:
    """Refuse what planar.h does not compute.

    Raises:
        ValueError: in one line.
    """
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    joints = [slide, slide] + [hinge] * (model.njnt - 2)
    axes = [[1, 0, 0], [0, 0, 1]] + [[0, 1, 0]] * (model.nv - 2)
    own = {
        "two slides and then a hinge for each body": list(model.jnt_type) == joints
        and list(model.jnt_bodyid[2:]) == list(range(1, model.nbody)),
        "slides along x and z, hinges about y": np.array_equal(np.abs(model.jnt_axis), axes),
        "capsules alone": bool((model.geom_type[1:] == mujoco.mjtGeom.mjGEOM_CAPSULE).all()),
    }
    check(model, "planar", own)
