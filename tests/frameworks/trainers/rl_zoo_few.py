"""RL Baselines3 Zoo's command trains with PPO, and tests the policy with an `EvalCallback`."""

import runpy
import sys
import tempfile
from pathlib import Path

import torch
from stable_baselines3 import PPO
from stable_baselines3.common import on_policy_algorithm
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv
from watch import print_learnt, watch

watch("simulation", DummyVecEnv, "step", "reset")
watch("inference", on_policy_algorithm, "obs_as_tensor")
watch("inference", ActorCriticPolicy, "forward", "predict")
watch("inference", PPO, "collect_rollouts")
watch("backpropagation", PPO, "train")
watch("backpropagation", RolloutBuffer, "compute_returns_and_advantage")
torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as folder:
    options = "--algo ppo --env CartPole-v1 --n-timesteps 10240 --seed 7 --device cpu --eval-freq 10000"
    sys.argv = ["train", *options.split(), "--log-folder", folder]
    runpy.run_module("rl_zoo3.train", run_name="__main__")
    print_learnt(PPO.load(Path(folder, "ppo", "CartPole-v1_1", "CartPole-v1.zip"), device="cpu").policy)
