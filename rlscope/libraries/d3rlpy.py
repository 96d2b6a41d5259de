"""d3rlpy: the training loop, offline and online, its stages, iterations and timesteps; its evaluators evaluate.

An iteration is a step as d3rlpy counts them, and so is a timestep: online one of the environment, offline an update.
"""

import inspect
from collections.abc import Callable
from typing import Any

from rlscope.model import EVALUATION
from rlscope.record.declared.kinds import FunctionHook, Hook, MethodHook, WrapperHook
from rlscope.record.progress import report_iteration

ALGORITHM = ("d3rlpy.algos.qlearning.base", "QLearningAlgoBase")
BUFFER = ("d3rlpy.dataset.replay_buffer", "ReplayBufferBase")
EVALUATORS = "d3rlpy.metrics.evaluators"


class _Steps:
    """Reports the steps of this process's trainings, which may follow each other."""

    def __init__(self) -> None:
        self._made = 0

    def reporting(self, train: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a method that trains, and calls back after each of its steps."""
        signature = inspect.signature(train)

        def training(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            callback, earlier = given.arguments["callback"], self._made
            total = earlier + given.arguments["n_steps"]

            def after_step(algorithm: Any, epoch: int, step: int) -> None:
                self._made = earlier + step
                report_iteration(timesteps=self._made, total_timesteps=total)
                if callback:
                    callback(algorithm, epoch, step)

            given.arguments["callback"] = after_step
            report_iteration(timesteps=earlier, total_timesteps=total, is_baseline=True)
            return train(*given.args, **given.kwargs)

        return training


_steps = _Steps()

HOOKS: tuple[Hook, ...] = (
    *(WrapperHook(ALGORITHM[0], (ALGORITHM[1], method), _steps.reporting) for method in ("fitter", "fit_online")),
    MethodHook(*ALGORITHM, "fit", ("training_loop",)),
    MethodHook(*ALGORITHM, "fit_online", ("training_loop",)),
    MethodHook(*ALGORITHM, "sample_action", ("inference", "sample_action")),
    MethodHook(*ALGORITHM, "predict", ("inference",)),
    MethodHook("d3rlpy.algos.qlearning.explorers", "Explorer", "sample", ("inference", "sample_action")),
    MethodHook(*ALGORITHM, "update", ("backpropagation",)),
    MethodHook(*BUFFER, "append", ("replay_buffer_add",)),
    MethodHook(*BUFFER, "sample_transition_batch", ("backpropagation", "sample_batch")),
    *(
        FunctionHook(module, "evaluate_qlearning_with_environment", (), phase=EVALUATION)
        for module in (ALGORITHM[0], EVALUATORS)
    ),
)
