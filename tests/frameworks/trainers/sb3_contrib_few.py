"""sb3-contrib's MaskablePPO, TQC or TRPO, as its documentation has them, for a few iterations."""

import sys

import torch
from sb3_contrib import TQC, TRPO, MaskablePPO
from sb3_contrib.common.envs import InvalidActionEnvDiscrete
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.ppo_mask import ppo_mask
from stable_baselines3.common import on_policy_algorithm
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv
from watch import print_learnt, watch

torch.set_num_threads(1)
timesteps = 2048
if sys.argv[1] == "MaskablePPO":
    env = InvalidActionEnvDiscrete(dim=80, n_invalid_actions=60)
    model = MaskablePPO("MlpPolicy", env, n_steps=512, seed=7, device="cpu")
    watch("simulation", ppo_mask, "get_action_masks")
    watch("inference", MaskableActorCriticPolicy, "forward")
elif sys.argv[1] == "TQC":
    sizes = {"n_critics": 2, "n_quantiles": 25}
    model = TQC("MlpPolicy", "Pendulum-v1", top_quantiles_to_drop_per_net=2, policy_kwargs=sizes, seed=7, device="cpu")
    timesteps = 250
    watch("inference", OffPolicyAlgorithm, "_sample_action")
else:
    model = TRPO("MlpPolicy", "Pendulum-v1", n_steps=512, batch_size=128, seed=7, device="cpu")
    watch("inference", on_policy_algorithm, "obs_as_tensor")
    watch("inference", ActorCriticPolicy, "forward")
watch("simulation", DummyVecEnv, "step", "reset")
watch("inference", type(model), "collect_rollouts")
watch("backpropagation", type(model), "train")
watch("backpropagation", RolloutBuffer, "compute_returns_and_advantage")
model.learn(timesteps)
print_learnt(model.policy)
