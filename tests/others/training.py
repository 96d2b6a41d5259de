"""A seeded training, at which other tools look while it runs: it saves its parameters, and prints what came of it.

With `--torch-profiler` PyTorch's profiler looks at its second half, and how often operators and functions of this file
ran is printed too.
"""

import sys
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch.profiler import ProfilerActivity, profile

TIMESTEPS = 128


class Corridor(gymnasium.Env[Any, Any]):
    """The goal is to the right, or to the left."""

    observation_space = gymnasium.spaces.Box(-10, 10, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.place, self.goal = 0, int(self.np_random.choice([-3, 3]))
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        self.place += 1 if action else -1
        is_there, is_lost = self.place == self.goal, abs(self.place) > 9
        return self.seen(), float(is_there), bool(is_there), bool(is_lost), {}

    def seen(self) -> Any:
        return np.array([self.place, self.goal], np.float32)


class Features(BaseFeaturesExtractor):
    """One layer."""

    def __init__(self, space: Any) -> None:
        super().__init__(space, features_dim=16)
        self.layer = torch.nn.Linear(2, 16)

    def forward(self, observations: Any) -> Any:
        return torch.tanh(self.layer(observations))


class Returns(BaseCallback):
    """Prints each episode, and what each update had for losses."""

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "episode" in info:
                print(self.num_timesteps, info["episode"]["r"], info["episode"]["l"])
        return True

    def _on_rollout_start(self) -> None:
        found = self.logger.name_to_value.items()
        print({name: float(value) for name, value in found if name.startswith("train/")})


torch.set_num_threads(1)
model = PPO(
    "MlpPolicy",
    Corridor(),
    n_steps=64,
    n_epochs=1,
    seed=7,
    policy_kwargs={"features_extractor_class": Features},
)
model.learn(TIMESTEPS // 2, callback=Returns())
if "--torch-profiler" in sys.argv:
    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as profiler:
        model.learn(TIMESTEPS // 2, callback=Returns())
    for event in sorted(profiler.key_averages(), key=lambda event: str(event.key)):
        if event.key.startswith(("aten::", "autograd::", "Optimizer.", "training.py")):
            print(event.key, event.count)
else:
    model.learn(TIMESTEPS // 2, callback=Returns())
np.savez("saved/parameters.npz", **{name: value.numpy() for name, value in model.policy.state_dict().items()})
