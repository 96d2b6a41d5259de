"""Train PPO on Walker2d with Stable-Baselines3 for so many seconds."""

import sys
import time

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env


class StopAt(BaseCallback):
    """Ends training at a moment of time.monotonic()."""

    def __init__(self, end: float) -> None:
        super().__init__()
        self.end = end

    def _on_step(self) -> bool:
        return time.monotonic() < self.end


torch.set_num_threads(1)
end = time.monotonic() + float(sys.argv[1])
agent = PPO("MlpPolicy", make_vec_env("Walker2d-v5", n_envs=4), n_steps=1024, seed=0, device="cpu")
agent.learn(1_000_000_000, callback=StopAt(end))
print(f"{agent.num_timesteps} timesteps")
