"""This file reads from MuJoCo's model of a robot what planar and spatial robots have in common, and checks the rest.

A robot's numbers are taken in the position `qpos0`, where all hinges are at rest, so every body's axes are those of the
world.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

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
        fastest_seen: speeds are observed up to so much.
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
    fastest_seen: float = 1e9


FAR = 1e9
TASKS = {
    "HalfCheetah": Task("half_cheetah.xml", 5, 1, 0.1, 0, -FAR, FAR, FAR, 0.1, 0.1, True),
    "Hopper": Task("hopper.xml", 4, 1, 1e-3, 1, 0.7, FAR, 0.2, 5e-3, 5e-3, False, 10),
    "Walker2d": Task("walker2d_v5.xml", 4, 1, 1e-3, 1, 0.8, 2, 1, 5e-3, 5e-3, False, 10),
    "Ant": Task("ant.xml", 5, 1, 0.5, 1, 0.2, 1, FAR, 0.1, 0.1, True),
}


@dataclass(frozen=True, kw_only=True)
class Robot:
    """The numbers that every robot has; lengths in metres, at `qpos0`.

    Attributes:
        hinges: body b's hinge is the degree of freedom hinges + b; the torso's degrees of freedom are up to hinges.
        parent: of each body, -1 for the torso.
        mass: of each body.
        armature: of each degree of freedom: the torso's, then the hinges in the order of their bodies.
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
        point_body: of each sphere, and of each end of a capsule.
        point_radius: of the sphere or capsule.
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

    #: Which position is the torso's height.
    height: ClassVar[int]

    hinges: int
    parent: list[int]
    mass: list[float]
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
    def positions(self) -> int:
        """Return the number of positions; a quaternion has four."""
        return len(self.start)

    @property
    def dofs(self) -> int:
        """Return the number of degrees of freedom."""
        return len(self.armature)


def mujoco_model(name: str) -> Any:
    """Return MuJoCo's model of a robot, with the options that are stated in docs/data-collection.md.

    Those of Gymnasium's file, but: Euler's integrator, implicit in the joints' damping, for every robot; Newton's
    solver until it no longer improves; contacts with the floor only, from where a robot touches it.
    """
    model = mujoco.MjModel.from_xml_path(str(ASSETS / TASKS[name].file))
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.iterations, model.opt.tolerance = 100, 1e-15
    model.opt.ls_iterations, model.opt.ls_tolerance = 100, 1e-6
    floor = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    model.geom_contype[:] = ~floor
    model.geom_conaffinity[:] = floor
    model.geom_margin[:] = model.jnt_margin[:] = 0
    return model


class End(NamedTuple):
    """A sphere, or an end of a capsule: what touches the floor.

    Attributes:
        body: MuJoCo's number of its body.
        place: its centre, in the axes of the world.
        along: where the capsule's axis points; zero of a sphere.
        geom: MuJoCo's number.
    """

    body: int
    place: Any
    along: Any
    geom: int


def ends_of(model: Any, data: Any) -> list[End]:
    """Return all spheres and the ends of all capsules."""
    ends = []
    for geom in range(1, model.ngeom):
        body, place = int(model.geom_bodyid[geom]), data.geom_xpos[geom]
        along = data.geom_xmat[geom].reshape(3, 3)[:, 2]
        reach = along * model.geom_size[geom, 1]
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_SPHERE:
            ends.append(End(body, place, 0 * along, geom))
        else:
            ends += [End(body, place + reach, along, geom), End(body, place - reach, along, geom)]
    return ends


def common_numbers(model: Any, hinges: int, bodies: list[int], ends: list[End]) -> dict[str, Any]:
    """Return the numbers that every robot has.

    Args:
        model: MuJoCo's.
        hinges: as of `Robot`.
        bodies: the robot's body of each of MuJoCo's.
        ends: of `ends_of`.
    """
    joints, places = model.dof_jntid, model.nq - model.nv + np.arange(model.nv)
    is_torso = np.arange(model.nv) < hinges
    limits = np.where(is_torso, False, model.jnt_limited[joints])
    limited = int(joints[np.flatnonzero(limits)[0]])
    geoms = [end.geom for end in ends]
    solref, solimp = ((of[0] + of[1]) / 2 for of in (model.geom_solref, model.geom_solimp))
    limit = stabilisation(model.opt.timestep, model.jnt_solref[limited], model.jnt_solimp[limited])
    contact = stabilisation(model.opt.timestep, solref, solimp)
    return {
        "hinges": hinges,
        "armature": floats(model.dof_armature),
        "damping": floats(model.dof_damping),
        "stiffness": floats(model.jnt_stiffness[joints]),
        "rest": floats(model.qpos_spring[places]),
        "start": floats(model.qpos0),
        "is_limited": [bool(is_limited) for is_limited in limits],
        "low": floats(model.jnt_range[joints, 0]),
        "high": floats(model.jnt_range[joints, 1]),
        "limit_weight": floats(model.dof_invweight0),
        **{f"limit_{name}": value for name, value in limit.items()},
        "point_body": [bodies[end.body] for end in ends],
        "point_radius": floats(model.geom_size[geoms, 0]),
        "point_friction": floats(np.maximum(model.geom_friction[geoms, 0], model.geom_friction[0, 0])),
        "point_weight": floats(model.body_invweight0[[end.body for end in ends], 0]),
        **{f"contact_{name}": value for name, value in contact.items()},
        "motor": [int(model.jnt_dofadr[joint]) for joint in model.actuator_trnid[:, 0]],
        "gear": floats(model.actuator_gear[:, 0]),
        "timestep": float(model.opt.timestep),
        "gravity": float(-model.opt.gravity[2]),
    }


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


def check(model: Any, kind: str, own: dict[str, bool]) -> None:
    """Refuse what no robot here computes.

    Args:
        model: MuJoCo's.
        kind: of robot, for the message.
        own: what such a robot has besides, and whether this one has.

    Raises:
        ValueError: in one line.
    """
    limited = model.jnt_limited.astype(bool)
    shapes = (mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_SPHERE)
    expected = {
        "a floor, capsules and spheres": model.geom_type[0] == mujoco.mjtGeom.mjGEOM_PLANE
        and bool(np.isin(model.geom_type[1:], shapes).all()),
        "the same solref and solimp for all geoms": is_one(model.geom_solref[1:]) and is_one(model.geom_solimp[1:]),
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
        **own,
    }
    for what, is_so in expected.items():
        if not is_so:
            raise ValueError(f"expected a {kind} robot with {what}, found another; take one of {', '.join(TASKS)}")


def is_one(rows: Any) -> bool:
    """Return whether all rows are the same."""
    return bool((rows == rows[:1]).all())
