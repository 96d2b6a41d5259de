"""Tianshou's PPO on EnvPool's CartPole, as EnvPool's example for Tianshou has it, for one short epoch."""

import envpool
import numpy as np
import torch
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic
from watch import print_learnt, watch

torch.set_num_threads(1)
np.random.seed(7)
torch.manual_seed(7)
training, testing = (
    envpool.make("CartPole-v1", env_type="gymnasium", num_envs=count, seed=7, num_threads=1) for count in (20, 100)
)
watch("simulation", type(training), "step", "reset")
watch("inference", Collector, "collect")
watch("inference", VectorReplayBuffer, "hasnull")
watch("backpropagation", PPO, "update")
network = Net(state_shape=(4,), hidden_sizes=[64, 64])
critic = DiscreteCritic(preprocess_net=network)
policy = DiscreteActorPolicy(
    actor=DiscreteActor(preprocess_net=network, action_shape=2, softmax_output=False),
    action_space=training.action_space,
    deterministic_eval=True,
)
algorithm = PPO(
    policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=1e-3), ent_coef=0.0, max_grad_norm=0.5,
    value_clip=True, return_scaling=True,
)  # fmt: skip
algorithm.run_training(
    OnPolicyTrainerParams(
        training_collector=Collector[CollectStats](algorithm, training, VectorReplayBuffer(20000, len(training))),
        test_collector=Collector[CollectStats](algorithm, testing),
        max_epochs=1,
        epoch_num_steps=2000,
        collection_step_num_env_steps=500,
        update_step_num_repetitions=2,
        batch_size=64,
        test_step_num_episodes=100,
        show_progress=False,
        verbose=False,
    )
)
print_learnt(policy, critic)
