"""CleanRL: the phase `evaluation`, where a script tests the model that it has saved. What it trains needs no hook."""

from rlscope.model import EVALUATION
from rlscope.record.declared.kinds import FunctionHook, Hook

HOOKS: tuple[Hook, ...] = tuple(
    FunctionHook(f"cleanrl_utils.evals.{name}_eval", "evaluate", (), phase=EVALUATION)
    for name in (
        "c51", "c51_jax", "ddpg", "ddpg_jax", "dqn", "dqn_jax", "ppo", "ppo_envpool_jax", "td3", "td3_jax",
    )
)  # fmt: skip
