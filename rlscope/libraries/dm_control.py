"""dm_control, and what else has the interface of dm_env: stepping and resetting environments is simulation."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (
    MethodHook("dm_env._environment", "Environment", "step", ("simulation",), steps="one"),
    MethodHook("dm_env._environment", "Environment", "reset", ("simulation", "reset")),
    MethodHook("dm_control.mujoco.engine", "Physics", "render", ("simulation", "render")),
)
