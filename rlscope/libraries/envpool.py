"""EnvPool: stepping and resetting environments is simulation, in the C++ that emulates them as well."""

from rlscope.model import Category
from rlscope.record.declared.kinds import Boundary, Hook, MethodHook

POOL = ("envpool.python.envpool", "EnvPoolMixin")

BOUNDARIES = (
    Boundary(
        library="envpool.python.envpool",
        category=Category.SIMULATOR,
        inherited=tuple(".".join((*POOL, method)) for method in ("_send", "_recv", "_reset", "_render")),
    ),
)
HOOKS: tuple[Hook, ...] = tuple(
    MethodHook(*POOL, method, operations)
    for method, operations in {
        "step": ("simulation",),
        "send": ("simulation",),
        "recv": ("simulation",),
        "reset": ("simulation", "reset"),
        "async_reset": ("simulation", "reset"),
        "render": ("simulation", "render"),
    }.items()
)
