"""MuJoCo: every function of the engine."""

from rlscope.model import Category
from rlscope.record.boundary import Boundary

BOUNDARY = Boundary(
    library="mujoco",
    category=Category.SIMULATOR,
    containers=("mujoco._functions", "mujoco._render", "mujoco._rollout"),
)
