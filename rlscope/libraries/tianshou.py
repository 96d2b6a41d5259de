"""Tianshou 2: the training loop, its stages, iterations and timesteps; a trainer's test step is an evaluation."""

from typing import Any

from rlscope._native import Hooked
from rlscope.model import CALLBACK, CHECKPOINT, EVALUATION, LOG
from rlscope.record.declared.hooks import scope_of
from rlscope.record.declared.kinds import Hook, MethodHook
from rlscope.record.declared.originals import in_place_of
from rlscope.record.progress import report_iteration

ALGORITHMS = ("OnPolicyAlgorithm", "OffPolicyAlgorithm", "OfflineAlgorithm")
BUFFER = ("tianshou.data.buffer.buffer_base", "ReplayBuffer")
COLLECTOR = ("tianshou.data.collector", "BaseCollector")
ENVIRONMENT = ("tianshou.env.venvs", "BaseVectorEnv")
TRAINER = ("tianshou.trainer", "Trainer")
LOGGER = ("tianshou.utils.logger.logger_base", "BaseLogger")
#: Functions that a trainer is given.
GIVEN = {"training_fn": CALLBACK, "test_fn": CALLBACK, "save_best_fn": CHECKPOINT, "save_checkpoint_fn": CHECKPOINT}


def _before_iteration(trainer: Any) -> None:
    """Report an iteration as a training step starts: the one before it is over, or training has just begun."""
    parameters = trainer.params
    total = parameters.max_epochs * parameters.epoch_num_steps
    is_first = trainer._current_update_step == 1
    report_iteration(timesteps=trainer._env_step, total_timesteps=total, is_baseline=is_first)


def _after_training(trainer: Any) -> None:
    report_iteration(timesteps=trainer._env_step)


def _wrap_given(parameters: Any) -> None:
    """Let the functions that a trainer is given run in operations."""
    for name, operation in GIVEN.items():
        function = getattr(parameters, name, None)
        if function is not None and type(function) is not Hooked:
            setattr(parameters, name, in_place_of(function, Hooked(function, (scope_of(operation),))))


HOOKS: tuple[Hook, ...] = (
    MethodHook("tianshou.trainer", "TrainerParams", "__post_init__", (), after=_wrap_given),
    *(
        MethodHook(*LOGGER, method, (LOG,))
        for method in ("log_training_data", "log_test_data", "log_update_data", "log_info_data")
    ),
    MethodHook(*LOGGER, "save_data", (CHECKPOINT,)),
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
