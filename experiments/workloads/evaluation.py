"""This file plays episodes of a Gymnasium environment by a policy that does not explore."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor


def return_of_episodes(
    name: str, episodes: int, act: Callable[[Tensor], Tensor], device: str, seed: int, **options: Any
) -> float:
    """Return the mean return of so many episodes, which are played side by side.

    Args:
        name: of the environment.
        episodes: how many.
        act: the actions for observations of shape (episodes, numbers), both on the device.
        device: cpu or cuda.
        seed: of the starts.
        options: of the environment, where they are not its defaults.
    """
    environments = gymnasium.make_vec(name, episodes, vectorization_mode="sync", **options)
    observations, _ = environments.reset(seed=seed)
    returns, is_running = np.zeros(episodes), np.ones(episodes, bool)
    while is_running.any():
        with torch.no_grad():
            actions = act(torch.tensor(observations, dtype=torch.float32, device=device)).cpu().numpy()
        observations, rewards, terminated, truncated, _ = environments.step(actions)
        returns += rewards * is_running
        is_running &= ~(terminated | truncated)
    environments.close()
    return float(returns.mean())
