"""Tianshou's DQN on CartPole, as its documentation has it, for two short epochs."""

import gymnasium
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net
from watch import print_learnt, watch

torch.set_num_threads(1)
watch("simulation", DummyVectorEnv, "step", "reset")
watch("inference", Collector, "collect")
watch("inference", VectorReplayBuffer, "hasnull")
watch("backpropagation", DQN, "update")
np.random.seed(7)
torch.manual_seed(7)
training, testing = (DummyVectorEnv([lambda: gymnasium.make("CartPole-v1")] * count) for count in (4, 2))
training.seed(7)
testing.seed(7)
space = training.action_space[0]
policy = DiscreteQLearningPolicy(
    model=Net(state_shape=(4,), action_shape=2, hidden_sizes=[64, 64]),
    action_space=space,
    eps_training=0.1,
    eps_inference=0.05,
)
algorithm = DQN(
    policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.9, n_step_return_horizon=3, target_update_freq=320
)
collector = Collector[CollectStats](algorithm, training, VectorReplayBuffer(20000, 4), exploration_noise=True)
collector.reset()
collector.collect(n_step=64)
algorithm.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        test_collector=Collector[CollectStats](algorithm, testing, exploration_noise=True),
        max_epochs=2,
        epoch_num_steps=500,
        collection_step_num_env_steps=10,
        update_step_num_gradient_steps_per_sample=0.3,
        batch_size=64,
        test_step_num_episodes=4,
        show_progress=False,
        verbose=False,
    )
)
print_learnt(policy)
