"""This file reads a planar robot from MuJoCo's model of it, whose numbers planar.h is compiled with.

A planar robot has a torso with two slides and a hinge, and bodies that hang on one hinge each. Its numbers are taken in
the position `qpos0`, where all hinges are at rest, so that every body's frame is that of the world.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import mujoco
import numpy as np

#: Gymnasium's files of the robots.
ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


class Task(NamedTuple):
    """This is what Gymnasium's environment adds to a robot.

    Attributes:
        file: of ASSETS.
        physics_steps: that one step of the environment takes.
        forward: reward for a speed of 1 m/s.
        control: cost of the sum of squared actions.
        alive: reward for a step after which the robot is healthy.
        lowest: of the torso while healthy, in metres; what is not healthy ends the episode.
        highest: likewise.
        steepest: angle of the torso while healthy, in radians.
        position_noise: positions begin within so much of `qpos0`.
        speed_noise: speeds begin within so much of zero, or with such a standard deviation.
        has_normal_speeds: whether it is a standard deviation.
    """

    file: str
    physics_steps: int
    forward: float
    control: float
    alive: float
    lowest: float
    highest: float
    steepest: float
    position_noise: float
    speed_noise: float
    has_normal_speeds: bool


FAR = 1e9
TASKS = {
    "HalfCheetah": Task("half_cheetah.xml", 5, 1, 0.1, 0, -FAR, FAR, FAR, 0.1, 0.1, True),
    "Hopper": Task("hopper.xml", 4, 1, 1e-3, 1, 0.7, FAR, 0.2, 5e-3, 5e-3, False),
    "Walker2d": Task("walker2d_v5.xml", 4, 1, 1e-3, 1, 0.8, 2, 1, 5e-3, 5e-3, False),
}


@dataclass(frozen=True)
class Planar:
    """A planar robot's numbers; lengths in metres, at `qpos0`.

    Attributes:
        parent: of each body, -1 for the torso.
        offset_x: from the parent's hinge to this body's.
        offset_z: likewise; the torso's is its height above the floor.
        centre_x: from a body's hinge to its centre of mass.
        centre_z: likewise.
        mass: of each body.
        inertia: of each body about its centre, about the y axis.
        sign: +1 where a hinge turns about +y, -1 about -y.
        armature: of each degree of freedom: x, z, then the hinges in the order of their bodies.
        damping: likewise.
        stiffness: likewise.
        rest: where the spring pulls to.
        start: `qpos0`.
        is_limited: whether a degree of freedom has limits.
        low: limit.
        high: limit.
        limit_weight: inverse inertia with which MuJoCo softens a limit.
        limit_damping: B of MuJoCo's reference acceleration -B v - K r for limits.
        limit_stiffness: K.
        limit_least: impedance where the limit is reached.
        limit_most: impedance from limit_width beyond it.
        limit_width: in radians.
        point_body: of each end of a capsule.
        point_x: from that body's hinge.
        point_z: likewise.
        point_radius: of the capsule.
        point_friction: Coulomb's.
        point_weight: inverse mass with which MuJoCo softens a contact.
        contact_damping: as for limits.
        contact_stiffness: likewise.
        contact_least: likewise.
        contact_most: likewise.
        contact_width: in metres.
        motor: degree of freedom of each motor.
        gear: torque for an action of 1.
        timestep: seconds of a physics step.
        gravity: in m/s², downwards.
    """

    parent: list[int]
    offset_x: list[float]
    offset_z: list[float]
    centre_x: list[float]
    centre_z: list[float]
    mass: list[float]
    inertia: list[float]
    sign: list[float]
    armature: list[float]
    damping: list[float]
    stiffness: list[float]
    rest: list[float]
    start: list[float]
    is_limited: list[bool]
    low: list[float]
    high: list[float]
    limit_weight: list[float]
    limit_damping: float
    limit_stiffness: float
    limit_least: float
    limit_most: float
    limit_width: float
    point_body: list[int]
    point_x: list[float]
    point_z: list[float]
    point_radius: list[float]
    point_friction: list[float]
    point_weight: list[float]
    contact_damping: float
    contact_stiffness: float
    contact_least: float
    contact_most: float
    contact_width: float
    motor: list[int]
    gear: list[float]
    timestep: float
    gravity: float

    @property
    def dofs(self) -> int:
        """Return the number of degrees of freedom."""
        return len(self.parent) + 2


def mujoco_model(name: str) -> Any:
    """Return MuJoCo's model of a robot, with the options that are stated in docs/data-collection.md.

    Those of Gymnasium's file, but: Euler's integrator, implicit in the joints' damping, for every robot; Newton's
    solver until it no longer improves; contacts with the floor only, from where a capsule touches it.
    """
    model = mujoco.MjModel.from_xml_path(str(ASSETS / TASKS[name].file))
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.iterations, model.opt.tolerance = 100, 1e-15
    model.opt.ls_iterations, model.opt.ls_tolerance = 100, 1e-6
    floor = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    model.geom_contype[:] = ~floor
    model.geom_conaffinity[:] = floor
    model.geom_margin[:] = 0
    return model


def planar_of(model: Any) -> Planar:
    """Return a planar robot's numbers.

    Raises:
        ValueError: it is none, or it has what planar.h does not compute; the message says what.
    """
    check(model)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = range(1, model.nbody)
    hinges = range(2, model.nv)
    parents = [int(model.body_parentid[body]) - 1 for body in bodies]
    anchors = data.xanchor[2:]
    offsets = np.array([anchors[i] - anchors[parent] if i else anchors[0] for i, parent in enumerate(parents)])
    centres = data.xipos[1:] - anchors
    rotations = data.ximat[1:].reshape(-1, 3, 3)
    inertias = np.einsum("bi,bi,bi->b", rotations[:, 1], model.body_inertia[1:], rotations[:, 1])

    point = points_of(model, data)
    capsule = int(np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE)[0])
    contact_solref = (model.geom_solref[0] + model.geom_solref[capsule]) / 2
    contact_solimp = (model.geom_solimp[0] + model.geom_solimp[capsule]) / 2
    limit = stabilisation(model.opt.timestep, model.jnt_solref[3], model.jnt_solimp[3])
    contact = stabilisation(model.opt.timestep, contact_solref, contact_solimp)
    return Planar(
        parent=parents,
        offset_x=floats(offsets[:, 0]),
        offset_z=floats(offsets[:, 2]),
        centre_x=floats(centres[:, 0]),
        centre_z=floats(centres[:, 2]),
        mass=floats(model.body_mass[1:]),
        inertia=floats(inertias),
        sign=[float(data.xaxis[hinge, 1]) for hinge in hinges],
        armature=floats(model.dof_armature),
        damping=floats(model.dof_damping),
        stiffness=floats(model.jnt_stiffness),
        rest=floats(model.qpos_spring),
        start=floats(model.qpos0),
        is_limited=[bool(limited) for limited in model.jnt_limited],
        low=floats(model.jnt_range[:, 0]),
        high=floats(model.jnt_range[:, 1]),
        limit_weight=floats(model.dof_invweight0),
        **{f"limit_{name}": value for name, value in limit.items()},
        point_body=point[0],
        point_x=floats(point[1]),
        point_z=floats(point[2]),
        point_radius=floats(point[3]),
        point_friction=floats(point[4]),
        point_weight=floats(point[5]),
        **{f"contact_{name}": value for name, value in contact.items()},
        motor=[int(model.jnt_dofadr[joint]) for joint in model.actuator_trnid[:, 0]],
        gear=floats(model.actuator_gear[:, 0]),
        timestep=float(model.opt.timestep),
        gravity=float(-model.opt.gravity[2]),
    )


def points_of(model: Any, data: Any) -> list[list[Any]]:
    """Return the ends of all capsules: their bodies, x, z, radius, friction and inverse mass."""
    points = []
    for geom in np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE):
        body = int(model.geom_bodyid[geom]) - 1
        axis = data.geom_xmat[geom].reshape(3, 3)[:, 2] * model.geom_size[geom, 1]
        for end in (axis, -axis):
            x, _, z = data.geom_xpos[geom] + end - data.xanchor[body + 2]
            friction = max(model.geom_friction[geom, 0], model.geom_friction[0, 0])
            points.append((body, x, z, model.geom_size[geom, 0], friction, model.body_invweight0[body + 1, 0]))
    return [list(column) for column in zip(*points, strict=True)]


def floats(values: Any) -> list[float]:
    """Return Python's numbers."""
    return [float(value) for value in values]


def stabilisation(timestep: float, solref: Any, solimp: Any) -> dict[str, float]:
    """Return what MuJoCo makes of `solref` and `solimp`: a reference acceleration, and its impedance."""
    seconds, ratio = max(solref[0], 2 * timestep), solref[1]
    least, most = np.clip(solimp[:2], mujoco.mjMINIMP, mujoco.mjMAXIMP)
    return {
        "damping": float(2 / (most * seconds)),
        "stiffness": float(1 / (most * seconds * ratio) ** 2),
        "least": float(least),
        "most": float(most),
        "width": float(solimp[2]),
    }


def check(model: Any) -> None:
    """Refuse what planar.h does not compute.

    Raises:
        ValueError: in one line.
    """
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    axes = np.abs(model.jnt_axis)
    limited = model.jnt_limited.astype(bool)
    capsules = model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE
    joints = [slide, slide] + [hinge] * (model.njnt - 2)
    expected = {
        "two slides and then a hinge for each body": list(model.jnt_type) == joints
        and list(model.jnt_bodyid[2:]) == list(range(1, model.nbody)),
        "slides along x and z, hinges about y": np.array_equal(
            axes, [[1, 0, 0], [0, 0, 1]] + [[0, 1, 0]] * (model.nv - 2)
        ),
        "a floor and capsules": model.geom_type[0] == mujoco.mjtGeom.mjGEOM_PLANE and bool(capsules[1:].all()),
        "the same solref and solimp for all capsules": is_one(model.geom_solref[1:]) and is_one(model.geom_solimp[1:]),
        "the same solref and solimp for all limits": is_one(model.jnt_solref[limited])
        and is_one(model.jnt_solimp[limited]),
        "a solref of a time constant, a solimp of middle 0.5 and power 2": bool((model.geom_solref[:, 0] > 0).all())
        and bool((np.vstack([model.geom_solimp, model.jnt_solimp])[:, 3:] == [0.5, 2]).all()),
        "pyramids of three dimensions": model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
        and model.geom_condim.max() == 3,
        "motors with an action from -1 to 1": bool((model.actuator_ctrlrange == [-1, 1]).all()),
        "no friction of joints and no margins": not (
            model.dof_frictionloss.any() or model.jnt_margin.any() or model.geom_margin.any()
        ),
    }
    for what, is_so in expected.items():
        if not is_so:
            raise ValueError(f"expected a planar robot with {what}, found another; take one of {', '.join(TASKS)}")


def is_one(rows: Any) -> bool:
    """Return whether all rows are the same."""
    return bool((rows == rows[:1]).all())
