"""This file writes a robot and its task as the C++ that the files in native/ are compiled with."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import mujoco

from robots.model import TASKS, Robot, mujoco_model
from robots.planar import Planar, planar_of
from robots.spatial import Spatial, spatial_of

NATIVE = Path(__file__).parent / "native"


def robot_of(name: str) -> Planar | Spatial:
    """Return a robot's numbers."""
    model = mujoco_model(name)
    return spatial_of(model) if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE else planar_of(model)


def source_of(name: str) -> str:
    """Return the C++ that steps a robot's environments: headers, and its numbers as a struct."""
    bodies = "spatial.h" if isinstance(robot_of(name), Spatial) else "planar.h"
    before = [NATIVE.parents[1] / "cartpole" / "cartpole.h"]
    before += [NATIVE / file for file in ("linear.h", "soft.h", bodies, "step.h")]
    behind = [NATIVE / "task.h", NATIVE / "policy.h"]
    return "\n".join([*(path.read_text() for path in before), struct_of(name), *(path.read_text() for path in behind)])


def struct_of(name: str) -> str:
    """Return a robot and its task as C++."""
    robot, task = robot_of(name), TASKS[name]
    values: dict[str, Any] = {field.name: getattr(robot, field.name) for field in fields(robot)}
    values |= {key: value for key, value in task._asdict().items() if key != "file"}
    lines = [f"  static constexpr int {key} = {size};" for key, size in sizes_of(robot).items()]
    lines += [f"  {declared(key, value)}" for key, value in values.items()]
    return "\n".join(["namespace robots {", f"struct {name} {{", *lines, "};", "}  // namespace robots", ""])


def sizes_of(robot: Robot) -> dict[str, int]:
    """Return how many there are of what; an observation leaves out where on the floor the robot is."""
    return {
        "bodies": len(robot.parent),
        "points": len(robot.point_body),
        "motors": len(robot.motor),
        "positions": robot.positions,
        "dofs": robot.dofs,
        "hidden_positions": robot.height,
        "observations": robot.positions - robot.height + robot.dofs,
    }


def declared(name: str, value: Any) -> str:
    """Return a number as a C++ constant, or numbers as a function of their index, which device code can call too."""
    first = value[0] if isinstance(value, list) else value
    kind = "bool" if isinstance(first, bool) else "int" if isinstance(first, int) else "double"
    if not isinstance(value, list):
        return f"static constexpr {kind} {name} = {literal(value)};"
    numbers = ", ".join(map(literal, value))
    return (
        f"static ROBOT_INLINE constexpr {kind} {name}(int i) {{ constexpr {kind} of[] = {{{numbers}}}; return of[i]; }}"
    )


def literal(value: Any) -> str:
    """Return a number as C++ writes it, with all its digits."""
    return str(value).lower() if isinstance(value, bool) else repr(value)
