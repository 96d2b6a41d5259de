"""MuJoCo Playground: stepping and resetting environments is simulation, also inside of what JAX compiles."""

from rlscope.record.declared.kinds import Hook, MethodHook

ENVIRONMENT = ("mujoco_playground._src.mjx_env", "MjxEnv")

HOOKS: tuple[Hook, ...] = (
    MethodHook(*ENVIRONMENT, "step", ("simulation",), is_traced=True),
    MethodHook(*ENVIRONMENT, "reset", ("simulation", "reset"), is_traced=True),
)
