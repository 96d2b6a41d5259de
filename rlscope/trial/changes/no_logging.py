"""Write no logs: TensorBoard, W&B, loggers of Stable-Baselines3 and of Python."""

from types import ModuleType
from typing import Any

from rlscope.trial.change import Function, Making, Wrap

ALTERS = "logs; what a program computes for them alone is computed all the same"
IS_OF_WALL = False


def prepare(making: Making) -> None:
    """Let what logs do nothing."""

    def silent(what: str, keep: str, instead: Function = lambda *args, **kwargs: None) -> Wrap:
        def put(function: Function) -> Function:
            def called(*args: Any, **kwargs: Any) -> Any:
                making.met(what, keep)
                return (instead if making.is_on else function)(*args, **kwargs)

            return called

        return put

    def of_tensorboard(module: ModuleType) -> None:
        for name in [name for name in vars(module.SummaryWriter) if name.startswith("add_")]:
            making.replace(module.SummaryWriter, name, silent("SummaryWriter", "SummaryWriter.add_...() more rarely"))

    def forget(logger: Any, step: int = 0) -> None:
        for values in (logger.name_to_value, logger.name_to_count, logger.name_to_excluded):
            values.clear()

    def of_stable_baselines3(module: ModuleType) -> None:
        making.replace(module.Logger, "dump", silent("Logger.dump", "learn(..., log_interval=...) larger", forget))

    def of_python(module: ModuleType) -> None:
        making.replace(module.Logger, "_log", silent("logging", "logging.disable(logging.CRITICAL)"))

    def of_wandb(module: ModuleType) -> None:
        making.replace(module.Run, "log", silent("wandb.log", "wandb.log(...) more rarely"))

    for writer in ("torch.utils.tensorboard.writer", "tensorboardX.writer"):
        making.after_import(writer, of_tensorboard)
    making.after_import("stable_baselines3.common.logger", of_stable_baselines3)
    making.after_import("logging", of_python)
    making.after_import("wandb.sdk.wandb_run", of_wandb)
