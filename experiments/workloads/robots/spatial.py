"""This file reads a robot in space, whose numbers spatial.h is compiled with, from MuJoCo's model of it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import mujoco
import numpy as np
from numpy.typing import NDArray

from robots.model import Robot, check, common_numbers, ends_of, floats

AXES = ("x", "y", "z")
PAIRS = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
#: Degrees of freedom of a free torso.
FREE = 6


@dataclass(frozen=True, kw_only=True)
class Spatial(Robot):
    """A torso that moves freely, and bodies that hang on one hinge each; what is welded to a body is part of it.

    Attributes:
        offset_x: from the parent's hinge to this body's; the torso's origin counts as its hinge.
        offset_y: likewise.
        offset_z: likewise.
        centre_x: from a body's hinge to its centre of mass.
        centre_y: likewise.
        centre_z: likewise.
        inertia_xx: of each body about its centre.
        inertia_yy: likewise.
        inertia_zz: likewise.
        inertia_xy: likewise.
        inertia_xz: likewise.
        inertia_yz: likewise.
        axis_x: of each hinge; zero of the torso.
        axis_y: likewise.
        axis_z: likewise.
        point_x: from its body's hinge.
        point_y: likewise.
        point_z: likewise.
        is_capsule: whether a point is the end of one.
        ahead_x: where the capsule's axis points; zero of a sphere.
        ahead_y: likewise.
        ahead_z: likewise.
    """

    height: ClassVar[int] = 2

    offset_x: list[float]
    offset_y: list[float]
    offset_z: list[float]
    centre_x: list[float]
    centre_y: list[float]
    centre_z: list[float]
    inertia_xx: list[float]
    inertia_yy: list[float]
    inertia_zz: list[float]
    inertia_xy: list[float]
    inertia_xz: list[float]
    inertia_yz: list[float]
    axis_x: list[float]
    axis_y: list[float]
    axis_z: list[float]
    point_x: list[float]
    point_y: list[float]
    point_z: list[float]
    is_capsule: list[bool]
    ahead_x: list[float]
    ahead_y: list[float]
    ahead_z: list[float]


def spatial_of(model: Any) -> Spatial:
    """Return the numbers of a robot in space.

    Raises:
        ValueError: it is none, or it has what spatial.h does not compute; the message says what.
    """
    check_spatial(model)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    moving = [int(body) for body in model.jnt_bodyid]
    # What is welded to a moving body belongs to it; the world is nobody's.
    owners = [-1, *(moving.index(int(body)) for body in model.body_weldid[1:])]
    parents = [owners[model.body_parentid[body]] for body in moving]
    anchors = data.xanchor
    masses, centres, inertias = merged(model, data, owners)
    ends = ends_of(model, data)
    points = np.array([end.place - anchors[owners[end.body]] for end in ends])
    offsets = np.array([anchors[i] - anchors[max(parent, 0)] for i, parent in enumerate(parents)])
    moments: dict[str, Any] = {
        f"inertia_{name}": floats(inertias[:, row, column]) for name, (row, column) in PAIRS.items()
    }
    return Spatial(
        **common_numbers(model, FREE - 1, owners, ends),
        parent=parents,
        mass=floats(masses),
        **columns("offset", offsets),
        **columns("centre", centres - anchors),
        **moments,
        **columns("axis", np.vstack([np.zeros(3), data.xaxis[1:]])),
        **columns("point", points),
        is_capsule=[bool(end.along.any()) for end in ends],
        **columns("ahead", np.array([end.along for end in ends])),
    )


def columns(name: str, vectors: NDArray[Any]) -> dict[str, Any]:
    """Return the coordinates of vectors, of shape (N, 3), by the names that they have in C++."""
    return {f"{name}_{axis}": floats(column) for axis, column in zip(AXES, vectors.T, strict=True)}


def merged(model: Any, data: Any, owners: list[int]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return masses, centres and inertias about them of the moving bodies, each with what is welded to it."""
    count = max(owners) + 1
    masses, firsts, inertias = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3, 3))
    for body, owner in enumerate(owners[1:], 1):
        masses[owner] += model.body_mass[body]
        firsts[owner] += model.body_mass[body] * data.xipos[body]
    centres = firsts / masses[:, None]
    for body, owner in enumerate(owners[1:], 1):
        axes, distance = data.ximat[body].reshape(3, 3), data.xipos[body] - centres[owner]
        own = axes @ np.diag(model.body_inertia[body]) @ axes.T
        away = distance @ distance * np.eye(3) - np.outer(distance, distance)
        inertias[owner] += own + model.body_mass[body] * away
    return masses, centres, inertias


def check_spatial(model: Any) -> None:
    """Refuse what spatial.h does not compute.

    Raises:
        ValueError: in one line.
    """
    free, hinge = mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_HINGE
    own = {
        "a free torso and then at most one hinge for each body": list(model.jnt_type)
        == [free] + [hinge] * (model.njnt - 1)
        and len(set(model.jnt_bodyid)) == model.njnt,
        "a torso that is not turned in qpos0": np.array_equal(model.qpos0[3:7], [1, 0, 0, 0]),
        "no armature, damping or stiffness of the torso": not (
            model.dof_armature[:FREE].any() or model.dof_damping[:FREE].any() or model.jnt_stiffness[0]
        ),
    }
    check(model, "spatial", own)
