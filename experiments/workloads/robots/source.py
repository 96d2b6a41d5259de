"""This file writes a planar robot and its task as the C++ that planar.h, task.h and robots.cu are compiled with."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from robots.model import TASKS, mujoco_model, planar_of

HERE = Path(__file__).parent


def source_of(name: str) -> str:
    """Return the C++ that steps a robot's environments: headers, and its numbers as a struct."""
    texts = [path.read_text() for path in (HERE.parent / "cartpole" / "cartpole.h", HERE / "planar.h", HERE / "task.h")]
    return "\n".join([*texts[:2], struct_of(name), texts[2]])


def struct_of(name: str) -> str:
    """Return a robot and its task as C++."""
    robot, task = planar_of(mujoco_model(name)), TASKS[name]
    values: dict[str, Any] = {field.name: getattr(robot, field.name) for field in fields(robot)}
    values |= {key: value for key, value in task._asdict().items() if key != "file"}
    sizes = {
        "bodies": len(robot.parent),
        "points": len(robot.point_body),
        "motors": len(robot.motor),
        "dofs": robot.dofs,
    }
    lines = [f"  static constexpr int {key} = {size};" for key, size in sizes.items()]
    lines += [f"  {declared(key, value)}" for key, value in values.items()]
    return "\n".join(["namespace robots {", f"struct {name} {{", *lines, "};", "}  // namespace robots", ""])


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
