"""Tianshou 2: the training loop, its stages, iterations and timesteps; a trainer's test step is an evaluation."""

from typing import Any

from rlscope.model import EVALUATION
from rlscope.record.declared.kinds import Hook, MethodHook
from rlscope.record.progress import report_iteration

ALGORITHMS = ("OnPolicyAlgorithm", "OffPolicyAlgorithm", "OfflineAlgorithm")
BUFFER = ("tianshou.data.buffer.buffer_base", "ReplayBuffer")
COLLECTOR = ("tianshou.data.collector", "BaseCollector")
ENVIRONMENT = ("tianshou.env.venvs", "BaseVectorEnv")
TRAINER = ("tianshou.trainer", "Trainer")


def _before_iteration(trainer: Any) -> None:
    """Report an iteration as a training step starts: the one before it is over, or training has just begun."""
    parameters = trainer.params
    total = parameters.max_epochs * parameters.epoch_num_steps
    is_first = trainer._current_update_step == 1
    report_iteration(timesteps=trainer._env_step, total_timesteps=total, is_baseline=is_first)


def _after_training(trainer: Any) -> None:
    report_iteration(timesteps=trainer._env_step)


HOOKS: tuple[Hook, ...] = (
    MethodHook(*TRAINER, "run", ("training_loop",), after=_after_training),
    MethodHook(*TRAINER, "_training_step", (), before=_before_iteration),
    MethodHook(*TRAINER, "_test_step", (), phase=EVALUATION),
    # What a collector does besides acting and stepping is little, and part of acting, as in TF-Agents.
    MethodHook(*COLLECTOR, "collect", ("inference", "collect_data")),
    MethodHook(*ENVIRONMENT, "step", ("simulation",)),
    MethodHook(*ENVIRONMENT, "reset", ("simulation", "reset")),
    MethodHook(*BUFFER, "add", ("replay_buffer_add",)),
    # The trainer looks for numbers that are none in what was collected.
    MethodHook(*BUFFER, "hasnull", ("inference", "collect_data")),
    MethodHook(*BUFFER, "sample", ("backpropagation", "sample_batch")),
    *(MethodHook("tianshou.algorithm.algorithm_base", name, "update", ("backpropagation",)) for name in ALGORITHMS),
)
