"""MuJoCo: every function of the engine."""

from rlscope.model import Category
from rlscope.record.boundary import Boundary

BOUNDARY = Boundary(
    library="mujoco",
    category=Category.SIMULATOR,
    containers=("mujoco._functions", "mujoco._render", "mujoco._rollout"),
    callback_takers=tuple(
        ("mujoco", f"set_mjcb_{name}")
        for name in (
            "act_bias",
            "act_dyn",
            "act_gain",
            "contactfilter",
            "control",
            "passive",
            "sensor",
            "time",
            "user_warning",
        )
    ),
)
