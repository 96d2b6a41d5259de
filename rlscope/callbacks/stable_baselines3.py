"""A callback of Stable-Baselines3, sb3-contrib and SBX: lines of the log have the shares of the time since the last."""

from stable_baselines3.common.callbacks import BaseCallback

from rlscope.callbacks.live_shares import LiveShares


class TrainingShares(BaseCallback):
    """Logs shares of stages and layers through the logger of the model, at the end of rollouts.

    Example:
        `model.learn(100_000, callback=TrainingShares())`, under `rlscope record`.
    """

    def _on_training_start(self) -> None:
        self._shares = LiveShares()
        self._names: set[str] = set()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        # The logger keeps values until it writes a line; of an off-policy algorithm that is after many rollouts.
        if self._names and self._names.isdisjoint(self.logger.name_to_value):
            self._shares.next_line()
        percentages = self._shares.look()
        self._names |= percentages.keys()
        for name, value in percentages.items():
            self.logger.record(name, value)
