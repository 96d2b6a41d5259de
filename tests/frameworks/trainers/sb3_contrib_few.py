"""sb3-contrib's MaskablePPO or TRPO, as its documentation has them, for a few iterations."""

import sys

import torch
from sb3_contrib import TRPO, MaskablePPO
from sb3_contrib.common.envs import InvalidActionEnvDiscrete
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.ppo_mask import ppo_mask
from stable_baselines3.common import on_policy_algorithm
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv
from watch import print_learnt, watch

torch.set_num_threads(1)
if sys.argv[1] == "MaskablePPO":
    env = InvalidActionEnvDiscrete(dim=80, n_invalid_actions=60)
    model = MaskablePPO("MlpPolicy", env, n_steps=512, seed=7, device="cpu")
    policy = MaskableActorCriticPolicy
    watch("simulation", ppo_mask, "get_action_masks")
else:
    model = TRPO("MlpPolicy", "Pendulum-v1", n_steps=512, batch_size=128, seed=7, device="cpu")
    policy = ActorCriticPolicy
    watch("inference", on_policy_algorithm, "obs_as_tensor")
watch("simulation", DummyVecEnv, "step", "reset")
watch("inference", policy, "forward")
watch("backpropagation", type(model), "train")
watch("backpropagation", RolloutBuffer, "compute_returns_and_advantage")
model.learn(2048)
print_learnt(model.policy)
