"""RSL-RL: the training loop, its stages, its iterations, and steps of whatever environment a runner holds."""

from collections.abc import Callable
from typing import Any

from rlscope.model import CHECKPOINT, LOG
from rlscope.record.declared.kinds import Held, Hook, MethodHook, WrapperHook
from rlscope.record.progress import report_iteration

RUNNER = ("rsl_rl.runners.on_policy_runner", "OnPolicyRunner")
LOGGER = ("rsl_rl.utils.logger", "Logger")
#: Those of Isaac Lab, mjlab and Playground are no subclasses of RSL-RL's own class.
ENVIRONMENT = Held("env", (("step", ("simulation",)), ("reset", ("simulation", "reset"))))
ALGORITHMS = (("rsl_rl.algorithms.ppo", "PPO"), ("rsl_rl.algorithms.distillation", "Distillation"))


def _per_iteration(logger: Any) -> int:
    """Return the timesteps that all processes make in an iteration; the logger counts them only where it writes."""
    return int(logger.cfg["num_steps_per_env"] * logger.num_envs * logger.gpu_world_size)


def _before_training(runner: Any) -> None:
    made = runner.current_learning_iteration * _per_iteration(runner.logger)
    report_iteration(timesteps=made, is_baseline=True)


def _reporting(log: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method with which every iteration ends."""

    def reporting(logger: Any, it: int, start_it: int, total_it: int, *args: Any, **kwargs: Any) -> Any:
        result = log(logger, it, start_it, total_it, *args, **kwargs)
        timesteps = _per_iteration(logger)
        report_iteration(timesteps=(it + 1) * timesteps, total_timesteps=total_it * timesteps)
        return result

    return reporting


HOOKS: tuple[Hook, ...] = (
    MethodHook(*RUNNER, "learn", ("training_loop",), before=_before_training, held=ENVIRONMENT),
    WrapperHook(LOGGER[0], (LOGGER[1], "log"), _reporting),
    MethodHook(*LOGGER, "log", (LOG,)),
    MethodHook(*RUNNER, "save", (CHECKPOINT,)),
    *(
        MethodHook(*algorithm, method, operations)
        for algorithm in ALGORITHMS
        for method, operations in {
            "act": ("inference", "sample_action"),
            "process_env_step": ("inference", "replay_buffer_add"),
            "compute_returns": ("backpropagation", "compute_advantage_estimates"),
            "update": ("backpropagation",),
        }.items()
    ),
)
