"""A callback of transformers and TRL: what a Trainer logs has the shares of the time since it logged before."""

from typing import Any

from transformers import TrainerCallback

from rlscope.callbacks.live_shares import LiveShares


class TrainingShares(TrainerCallback):
    """Logs shares of stages and layers with everything else that a Trainer logs, of the process of rank 0.

    Example:
        `trainer.add_callback(TrainingShares(trainer))`, under `rlscope record`.
    """

    def __init__(self, trainer: Any) -> None:
        """Take the Trainer that it is given to as well."""
        self._trainer = trainer
        self._step = -1

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Come before the callbacks that write the log: all are told in order, and this one adds to what they write."""
        handler = self._trainer.callback_handler
        handler.callbacks = [self, *(callback for callback in handler.callbacks if callback is not self)]
        self._shares = LiveShares()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """Add the shares to a line, but to no second one of the same step, such as the summary at the end."""
        if logs is None or not state.is_world_process_zero or state.global_step == self._step:
            return
        self._step = state.global_step
        if percentages := self._shares.look():
            self._shares.next_line()
            logs.update(percentages)
            state.log_history[-1].update(percentages)
