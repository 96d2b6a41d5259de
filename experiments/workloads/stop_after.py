"""This file ends training early by a callback of Stable-Baselines3; schedules still span the whole training."""

from stable_baselines3.common.callbacks import BaseCallback


class StopAfter(BaseCallback):
    """Ends training once this many timesteps are complete."""

    def __init__(self, timesteps: int) -> None:
        super().__init__()
        self.timesteps = timesteps

    def _on_step(self) -> bool:
        # The step that exceeds the limit opens a further iteration, so that the last one wanted ends as all others do.
        return self.num_timesteps <= self.timesteps
