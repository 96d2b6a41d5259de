"""RLlib: the training loop, its stages in whichever process they run, finer operations under them, and progress."""

from typing import Any

from rlscope.libraries.ray import name_process
from rlscope.record.declared.kinds import FunctionHook, Hook, MethodHook
from rlscope.record.progress import report_iteration

ALGORITHMS = "ray.rllib.algorithms"
CONNECTORS = "ray.rllib.connectors"
ALGORITHM = (f"{ALGORITHMS}.algorithm", "Algorithm")
BUFFER = ("ray.rllib.utils.replay_buffers.base", "ReplayBufferInterface")
ENV_RUNNER = ("ray.rllib.env.env_runner", "EnvRunner")
LEARNER = ("ray.rllib.core.learner.learner", "Learner")
MODULE = ("ray.rllib.core.rl_module.rl_module", "RLModule")
POLICY = ("ray.rllib.policy.policy", "Policy")  # of the old API stack

COLLECT = ("training_loop", "collect_data")
ACT = ("inference", "sample_action")
SYNCHRONISE = ("synchronisation", "sync_weights")


def _timesteps(algorithm: Any) -> int:
    """Return the steps that all runners have taken; each API stack counts them at its own place."""
    if getattr(algorithm.config, "enable_env_runner_and_connector_v2", False):  # older versions have one stack
        return int(algorithm.metrics.peek(("env_runners", "num_env_steps_sampled_lifetime"), default=0))
    return int(algorithm._counters["num_env_steps_sampled"])


def _before_iteration(algorithm: Any) -> None:
    if algorithm._iterations_since_restore == 0:
        report_iteration(timesteps=_timesteps(algorithm), is_baseline=True)


def _after_iteration(algorithm: Any) -> None:
    report_iteration(timesteps=_timesteps(algorithm))


def _name_runner(runner: Any) -> None:
    """Name a runner's process by RLlib's number, from 1; the one in the algorithm's own process has none."""
    if getattr(runner, "worker_index", None):  # a runner of the program's own may have no number
        suffix = " (evaluation)" if runner.config.in_evaluation else ""
        name_process(f"{type(runner).__name__} {runner.worker_index}{suffix}")


def _name_learner(learner: Any) -> None:
    """Name a learner's process by its own class: as an actor it has one that Ray made."""
    name_process(f"{learner.config.learner_class.__name__} {learner._learner_index + 1}")


HOOKS: tuple[Hook, ...] = (
    MethodHook(*ALGORITHM, "train", ("training_loop",), before=_before_iteration, after=_after_iteration),
    MethodHook(*ALGORITHM, "evaluate", ("evaluate",)),
    # In the algorithm's process: where the runners are actors, it waits for them there.
    *(
        FunctionHook(f"{ALGORITHMS}.{name}.{name}", "synchronous_parallel_sample", COLLECT)
        for name in ("ppo", "dqn", "marwil", "cql", "dreamerv3")
    ),
    MethodHook(*ENV_RUNNER, "__init__", (), after=_name_runner),
    MethodHook(*ENV_RUNNER, "sample", COLLECT),
    MethodHook(*ENV_RUNNER, "set_state", SYNCHRONISE),
    MethodHook("ray.rllib.env.env_runner_group", "EnvRunnerGroup", "sync_weights", SYNCHRONISE),
    # Observations become the module's batch, the batch becomes a distribution, and actions are drawn from it.
    MethodHook(
        f"{CONNECTORS}.env_to_module.env_to_module_pipeline",
        "EnvToModulePipeline",
        "__call__",
        ("inference", "env_to_module"),
    ),
    MethodHook(*MODULE, "forward_exploration", ACT),
    MethodHook(*MODULE, "forward_inference", ACT),
    MethodHook(
        f"{CONNECTORS}.module_to_env.module_to_env_pipeline",
        "ModuleToEnvPipeline",
        "__call__",
        ("inference", "module_to_env"),
    ),
    MethodHook(*BUFFER, "add", ("replay_buffer_add",)),
    MethodHook(*BUFFER, "sample", ("backpropagation", "sample_batch")),
    FunctionHook(
        f"{ALGORITHMS}.dqn.dqn", "update_priorities_in_episode_replay_buffer", ("backpropagation", "update_priorities")
    ),
    MethodHook("ray.rllib.core.learner.learner_group", "LearnerGroup", "update", ("backpropagation",)),
    MethodHook(*LEARNER, "_set_learner_index_and_placement_group", (), after=_name_learner),
    MethodHook(*LEARNER, "get_state", SYNCHRONISE),
    MethodHook(*LEARNER, "update", ("backpropagation",)),
    MethodHook(
        f"{CONNECTORS}.learner.learner_connector_pipeline",
        "LearnerConnectorPipeline",
        "__call__",
        ("backpropagation", "learner_connector"),
    ),
    MethodHook(
        f"{CONNECTORS}.learner.general_advantage_estimation",
        "GeneralAdvantageEstimation",
        "__call__",
        ("backpropagation", "compute_advantage_estimates"),
    ),
    MethodHook(*MODULE, "forward_train", ("backpropagation", "forward_train")),
    MethodHook(*LEARNER, "compute_losses", ("backpropagation", "compute_losses")),
    MethodHook(*LEARNER, "compute_gradients", ("backpropagation", "compute_gradients")),
    MethodHook(*LEARNER, "apply_gradients", ("backpropagation", "apply_gradients")),
    *(
        FunctionHook(
            f"{ALGORITHMS}.{name}.{name}_learner",
            "update_target_network",
            ("backpropagation", "update_target_network"),
        )
        for name in ("dqn", "appo")
    ),
    MethodHook(*POLICY, "compute_actions_from_input_dict", ACT),
    MethodHook(*POLICY, "learn_on_batch", ("backpropagation",)),
    MethodHook(*POLICY, "learn_on_loaded_batch", ("backpropagation",)),
)
