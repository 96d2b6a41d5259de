"""XuanCe's DQN on two CartPoles, as its examples have it, for a few hundred timesteps."""

from argparse import Namespace

import torch
from watch import print_learnt, watch
from xuance.common import get_arguments
from xuance.common.memory_tools import DummyOffPolicyBuffer
from xuance.environment import make_envs
from xuance.environment.vector_envs.dummy.dummy_vec_env import DummyVecEnv
from xuance.environment.vector_envs.vector_env import VecEnv
from xuance.torch.agents import DQN_Agent

torch.set_num_threads(1)
settings: Namespace = get_arguments("dqn", "classic_control", "CartPole-v1")
settings.parallels, settings.device, settings.seed, settings.start_training = 2, "cpu", 7, 64
settings.training_frequency, settings.running_steps, settings.render_mode = 1, 800, None
torch.manual_seed(7)
envs = make_envs(settings)
agent = DQN_Agent(config=settings, envs=envs)
watch("simulation", VecEnv, "step")
watch("simulation", DummyVecEnv, "reset")
watch("inference", DQN_Agent, "get_actions")
watch("inference", DummyOffPolicyBuffer, "store")
watch("backpropagation", DQN_Agent, "train_epochs")
agent.train(400)
agent.save_model("model.pth")
agent.finish()
print_learnt(agent.policy)
