"""RLlib: the training loop, its stages in whichever process they run, finer operations under them, and progress."""

from typing import Any

from rlscope.record.hooks import FunctionHook, MethodHook
from rlscope.record.progress import report_baseline, report_progress

#: Environment steps of all env runners since training began, as the new API stack and the old one count them.
ENV_STEPS = ("env_runners", "num_env_steps_sampled_lifetime")
ENV_STEPS_OLD = "num_env_steps_sampled"


def _timesteps(algorithm: Any) -> int:
    if algorithm.config.enable_env_runner_and_connector_v2:
        return int(algorithm.metrics.peek(ENV_STEPS, default=0))
    return int(algorithm._counters[ENV_STEPS_OLD])


def _before_iteration(algorithm: Any) -> None:
    if algorithm._iterations_since_restore == 0:
        report_baseline(timesteps=_timesteps(algorithm))


def _after_iteration(algorithm: Any) -> None:
    report_progress(timesteps=_timesteps(algorithm))


HOOKS: tuple[FunctionHook | MethodHook, ...] = (
    MethodHook(
        "ray.rllib.algorithms.algorithm",
        "Algorithm",
        "train",
        ("training_loop",),
        before=_before_iteration,
        after=_after_iteration,
    ),
    MethodHook("ray.rllib.env.env_runner", "EnvRunner", "sample", ("training_loop", "collect_data")),
    MethodHook("ray.rllib.env.env_runner", "EnvRunner", "set_state", ("sync_weights",)),
    MethodHook("ray.rllib.env.env_runner_group", "EnvRunnerGroup", "sync_weights", ("sync_weights",)),
    MethodHook(
        "ray.rllib.core.rl_module.rl_module", "RLModule", "forward_exploration", ("inference", "sample_action")
    ),
    MethodHook("ray.rllib.core.rl_module.rl_module", "RLModule", "forward_inference", ("inference", "sample_action")),
    MethodHook(
        "ray.rllib.connectors.env_to_module.env_to_module_pipeline",
        "EnvToModulePipeline",
        "__call__",
        ("inference", "env_to_module"),
    ),
    MethodHook(
        "ray.rllib.connectors.module_to_env.module_to_env_pipeline",
        "ModuleToEnvPipeline",
        "__call__",
        ("inference", "module_to_env"),
    ),
    MethodHook("ray.rllib.core.learner.learner_group", "LearnerGroup", "update", ("backpropagation",)),
    MethodHook("ray.rllib.core.learner.learner", "Learner", "update", ("backpropagation",)),
    MethodHook("ray.rllib.core.learner.learner", "Learner", "compute_losses", ("backpropagation", "compute_losses")),
    MethodHook(
        "ray.rllib.core.learner.learner", "Learner", "compute_gradients", ("backpropagation", "compute_gradients")
    ),
    MethodHook("ray.rllib.core.learner.learner", "Learner", "apply_gradients", ("backpropagation", "apply_gradients")),
    MethodHook(
        "ray.rllib.connectors.learner.learner_connector_pipeline",
        "LearnerConnectorPipeline",
        "__call__",
        ("backpropagation", "learner_connector"),
    ),
    MethodHook(
        "ray.rllib.connectors.learner.general_advantage_estimation",
        "GeneralAdvantageEstimation",
        "__call__",
        ("backpropagation", "compute_advantage_estimates"),
    ),
    FunctionHook(
        "ray.rllib.algorithms.dqn.dqn_learner", "update_target_network", ("backpropagation", "update_target_network")
    ),
)
