"""MuJoCo: every function of the engine, compiling a model, and stepping many worlds at once, in MJX as well."""

from rlscope.model import Category
from rlscope.record.declared.kinds import Boundary, FunctionHook, Hook

MODEL = ("from_xml_string", "from_xml_path", "from_binary_path")
SPEC = ("from_string", "from_file", "compile", "recompile")
BATCH = ("step", "forward", "reset", "rollout", "jac", "ray", "set_const", "set_models")

BOUNDARIES = (
    Boundary(
        library="mujoco",
        category=Category.SIMULATOR,
        containers=("mujoco._functions", "mujoco._render"),
        functions=(
            *(f"mujoco._structs.MjModel.{name}" for name in MODEL),
            *(f"mujoco._specs.MjSpec.{name}" for name in SPEC),
            *(f"mujoco._batch.Batch.{name}" for name in BATCH),
            "mujoco._rollout.Rollout.rollout",
        ),
        callback_takers=(
            *(
                ("mujoco", f"set_mjcb_{name}")
                for name in ("act_bias", "act_dyn", "act_gain", "contactfilter", "control", "passive", "sensor", "time")
            ),
            ("mujoco", "set_mju_user_warning"),
        ),
    ),
)
HOOKS: tuple[Hook, ...] = tuple(
    FunctionHook("mujoco.mjx", function, operations, is_traced=True)
    for function, operations in {
        "step": ("simulation",),
        "forward": ("simulation",),
        "make_data": ("simulation", "reset"),
        "put_data": ("simulation", "reset"),
    }.items()
)
