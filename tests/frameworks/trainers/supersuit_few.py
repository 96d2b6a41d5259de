"""Stable-Baselines3's PPO for two agents of PettingZoo, in a vector of SuperSuit, as its tutorial has it."""

from typing import Any, ClassVar

import numpy as np
import supersuit
import torch
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.utils import set_random_seed
from supersuit.vector.sb3_vector_wrapper import SB3VecEnvWrapper
from watch import print_learnt, watch

torch.set_num_threads(1)
set_random_seed(7)
AGENTS = ["left", "right"]


class Pursuit(ParallelEnv):
    """Each of two agents on a line is rewarded for being near the other one."""

    metadata: ClassVar = {"name": "pursuit", "render_modes": []}
    render_mode = None
    possible_agents = AGENTS

    def observation_space(self, agent: str) -> Box:
        return Box(-np.inf, np.inf, (2,), np.float32)

    def action_space(self, agent: str) -> Discrete:
        return Discrete(3)

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        self.agents, self.turns = list(AGENTS), 0
        self.places = dict(zip(AGENTS, (-5.0, 5.0), strict=True))
        return self.observed(), {agent: {} for agent in AGENTS}

    def step(self, actions: dict[str, Any]) -> tuple[dict, ...]:
        self.turns += 1
        for agent, action in actions.items():
            self.places[agent] += float(action) - 1
        is_over, distance = self.turns == 50, abs(self.places["left"] - self.places["right"])
        results = [dict.fromkeys(AGENTS, value) for value in (-distance, False, is_over)]
        observed = self.observed()
        if is_over:
            self.agents = []
        return (observed, *results, {agent: {} for agent in AGENTS})

    def observed(self) -> dict[str, np.ndarray]:
        left, right = self.places.values()
        return {"left": np.array([left, right], np.float32), "right": np.array([right, left], np.float32)}


env = supersuit.pettingzoo_env_to_vec_env_v1(supersuit.frame_stack_v1(Pursuit(), 2))
env = supersuit.concat_vec_envs_v1(env, 2, num_cpus=1, base_class="stable_baselines3")
model = PPO("MlpPolicy", env, n_steps=64, batch_size=64, device="cpu")
watch("simulation", SB3VecEnvWrapper, "step_async", "step_wait", "reset")
watch("inference", ActorCriticPolicy, "forward")
watch("inference", PPO, "collect_rollouts")
watch("backpropagation", PPO, "train")
watch("backpropagation", RolloutBuffer, "compute_returns_and_advantage")
model.learn(4 * 256)
print_learnt(model.policy)
