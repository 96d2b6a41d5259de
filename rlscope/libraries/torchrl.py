"""TorchRL: collecting, environments, buffers, losses, a trainer's updates; what a script does between is guessed."""

from collections.abc import Callable
from multiprocessing import parent_process
from typing import Any

from rlscope.model import CHECKPOINT, EVALUATION, LOG
from rlscope.record.declared.kinds import Hook, MethodHook, WrapperHook
from rlscope.record.progress import report_progress

COLLECTOR = ("torchrl.collectors._single", "Collector")
ENVIRONMENT = ("torchrl.envs.common", "EnvBase")
BUFFER = ("torchrl.data.replay_buffers.replay_buffers.base", "ReplayBuffer")
TRAINER = ("torchrl.trainers.trainers", "Trainer")
# What a collector does besides acting and stepping is little, and part of acting, as in TF-Agents.
COLLECT = ("inference", "collect_data")


def _reporting(rollout: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap what an iteration ends with; a worker's is a part of one. The loop's updates are still guessed."""

    def reporting(collector: Any) -> Any:
        batch = rollout(collector)
        if parent_process() is None:
            # What goes into a replay buffer step by step is counted there, and no batch.
            frames = 0 if batch is None else batch.numel()
            report_progress(timesteps=collector._frames + frames, total_timesteps=_total(collector))
        return batch

    return reporting


def _total(collector: Any) -> int | None:
    total = collector.total_frames
    return int(total) if total < float("inf") else None


HOOKS: tuple[Hook, ...] = (
    MethodHook(*COLLECTOR, "rollout", COLLECT),
    WrapperHook(COLLECTOR[0], (COLLECTOR[1], "rollout"), _reporting),
    MethodHook(
        "torchrl.collectors._base", "BaseCollector", "update_policy_weights_", ("synchronisation", "sync_weights")
    ),
    MethodHook(*ENVIRONMENT, "rollout", COLLECT),
    MethodHook(*ENVIRONMENT, "step", ("simulation",)),
    MethodHook(*ENVIRONMENT, "step_and_maybe_reset", ("simulation",)),
    MethodHook(*ENVIRONMENT, "reset", ("simulation", "reset")),
    MethodHook(*BUFFER, "add", ("replay_buffer_add",)),
    MethodHook(*BUFFER, "extend", ("replay_buffer_add",)),
    MethodHook(*BUFFER, "sample", ("backpropagation", "sample_batch")),
    MethodHook("torchrl.objectives.common", "LossModule", "__call__", ("backpropagation", "compute_losses")),
    MethodHook(
        "torchrl.objectives.value.advantages",
        "ValueEstimatorBase",
        "__call__",
        ("backpropagation", "compute_advantage_estimates"),
    ),
    MethodHook("torchrl.objectives.utils", "TargetNetUpdater", "step", ("backpropagation", "update_target_network")),
    MethodHook(*TRAINER, "train", ("training_loop",)),
    MethodHook(*TRAINER, "optim_steps", ("backpropagation",)),
    *(
        MethodHook(*TRAINER, method, (LOG,))
        for method in (
            "_pre_epoch_log_hook",
            "_post_epoch_log_hook",
            "_post_optim_complete_log_hook",
            "_pre_steps_log_hook",
            "_post_steps_log_hook",
            "_log",
        )
    ),
    MethodHook(*TRAINER, "save_trainer", (CHECKPOINT,)),
    *(
        MethodHook("torchrl.record.loggers.common", "Logger", method, (LOG,))
        for method in ("log_scalar", "log_video", "log_hparams", "log_histogram", "log_metrics", "flush")
    ),
    MethodHook("torchrl.trainers.trainers", "LogValidationReward", "__call__", (), phase=EVALUATION),
)
