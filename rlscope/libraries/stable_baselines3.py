"""Stable-Baselines3: the training loop, its three stages and finer operations under them, iterations and timesteps.

Testing a policy is the phase `evaluation`, also as RL Baselines3 Zoo does it, by an `EvalCallback`, and sb3-contrib.
What callbacks do, saving and writing logs are operations of their own.
"""

from collections.abc import Callable
from typing import Any

from rlscope.model import CALLBACK, CHECKPOINT, EVALUATION, LOG
from rlscope.record.declared.kinds import FunctionHook, Hook, MethodHook, WrapperHook
from rlscope.record.declared.originals import original_of
from rlscope.record.progress import report_iteration

COMMON = "stable_baselines3.common"
#: That of policies with action masks, which sb3-contrib has functions of its own for.
MASKABLE = "sb3_contrib.common.maskable"


def _at_iteration_start(algorithm: Any) -> None:
    """Report an iteration as a rollout starts: the one before it is over, or training has just begun."""
    timesteps, total = algorithm.num_timesteps, algorithm._total_timesteps
    is_baseline = timesteps == algorithm._num_timesteps_at_start
    report_iteration(timesteps=timesteps, total_timesteps=total, is_baseline=is_baseline)


def _after_training(algorithm: Any) -> None:
    report_iteration(timesteps=algorithm.num_timesteps, total_timesteps=algorithm._total_timesteps)


def _unless_empty(on_step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the callback that stands for a function: for none, as without any callback, it is left at every step."""
    unrecorded = original_of(on_step)

    def stepping(callback: Any) -> Any:
        return (unrecorded if callback.callback is None else on_step)(callback)

    return stepping


HOOKS: tuple[Hook, ...] = (
    MethodHook(f"{COMMON}.base_class", "BaseAlgorithm", "learn", ("training_loop",), after=_after_training),
    MethodHook(f"{COMMON}.base_class", "BaseAlgorithm", "train", ("backpropagation",)),
    MethodHook(f"{COMMON}.base_class", "BaseAlgorithm", "predict", ("inference",)),
    # What collecting does besides acting and stepping is little, and part of acting, as in TF-Agents.
    *(
        MethodHook(
            f"{COMMON}.{module}", owner, "collect_rollouts", ("inference", "collect_data"), before=_at_iteration_start
        )
        for module, owner in (
            ("on_policy_algorithm", "OnPolicyAlgorithm"),
            ("off_policy_algorithm", "OffPolicyAlgorithm"),
        )
    ),
    MethodHook(
        f"{COMMON}.off_policy_algorithm", "OffPolicyAlgorithm", "_sample_action", ("inference", "sample_action")
    ),
    MethodHook(f"{COMMON}.off_policy_algorithm", "OffPolicyAlgorithm", "_store_transition", ("replay_buffer_add",)),
    # Each in a list is one; and the first hook of a method holds.
    MethodHook(f"{COMMON}.callbacks", "CallbackList", "_on_step", ()),
    MethodHook(f"{COMMON}.callbacks", "CheckpointCallback", "_on_step", (CHECKPOINT,)),
    *(
        MethodHook(f"{COMMON}.callbacks", "BaseCallback", method, (CALLBACK,))
        for method in ("_on_step", "_on_rollout_start", "_on_rollout_end", "_on_training_start", "_on_training_end")
    ),
    WrapperHook(f"{COMMON}.callbacks", ("ConvertCallback", "_on_step"), _unless_empty),
    MethodHook(f"{COMMON}.base_class", "BaseAlgorithm", "save", (CHECKPOINT,)),
    MethodHook(f"{COMMON}.off_policy_algorithm", "OffPolicyAlgorithm", "save_replay_buffer", (CHECKPOINT,)),
    MethodHook(f"{COMMON}.vec_env.vec_normalize", "VecNormalize", "save", (CHECKPOINT,)),
    MethodHook(f"{COMMON}.logger", "Logger", "dump", (LOG,)),
    *(
        FunctionHook(f"{package}.{name}", "evaluate_policy", ("evaluate",), phase=EVALUATION)
        for package in (COMMON, MASKABLE)
        for name in ("evaluation", "callbacks")
    ),
    FunctionHook(f"{COMMON}.on_policy_algorithm", "obs_as_tensor", ("inference", "sample_action")),
    MethodHook(f"{COMMON}.policies", "ActorCriticPolicy", "__call__", ("inference", "sample_action")),
    MethodHook(
        f"{COMMON}.policies", "ActorCriticPolicy", "predict_values", ("inference", "predict_values"), is_default=True
    ),
    MethodHook(f"{COMMON}.policies", "BasePolicy", "predict", ("inference",)),
    MethodHook(f"{COMMON}.vec_env.base_vec_env", "VecEnv", "step", ("simulation",)),
    MethodHook(f"{COMMON}.vec_env.base_vec_env", "VecEnv", "reset", ("simulation", "reset")),
    MethodHook(f"{COMMON}.vec_env.vec_normalize", "VecNormalize", "normalize_obs", ("normalize",)),
    MethodHook(f"{COMMON}.vec_env.vec_normalize", "VecNormalize", "normalize_reward", ("normalize",)),
    MethodHook(f"{COMMON}.buffers", "BaseBuffer", "sample", ("sample_batch",)),
    MethodHook(
        f"{COMMON}.buffers",
        "RolloutBuffer",
        "compute_returns_and_advantage",
        ("backpropagation", "compute_advantage_estimates"),
    ),
    *(
        FunctionHook(f"stable_baselines3.{name}.{name}", "polyak_update", ("backpropagation", "update_target_network"))
        for name in ("dqn", "sac", "td3")
    ),
)
