"""PettingZoo: stepping and resetting environments of several agents, in parallel or one by one, is simulation."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = tuple(
    MethodHook("pettingzoo.utils.env", environment, method, operations)
    for environment in ("ParallelEnv", "AECEnv")
    for method, operations in {
        "step": ("simulation",),
        "reset": ("simulation", "reset"),
        "render": ("simulation", "render"),
    }.items()
)
