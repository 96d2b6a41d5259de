"""d3rlpy's DQN on CartPole, as its documentation has it: online, then offline on what it has seen, with evaluators."""

import d3rlpy
import gymnasium
import torch
from d3rlpy.algos.qlearning.explorers import ConstantEpsilonGreedy
from d3rlpy.dataset import ReplayBuffer
from watch import print_learnt, watch

torch.set_num_threads(1)
d3rlpy.seed(7)
env, test = (gymnasium.make("CartPole-v1") for _ in range(2))
d3rlpy.envs.seed_env(env, 7)
d3rlpy.envs.seed_env(test, 7)
algorithm = d3rlpy.algos.DQNConfig(batch_size=64).create(device="cpu")
watch("simulation", type(env), "step", "reset")
watch("inference", ConstantEpsilonGreedy, "sample")
watch("inference", type(algorithm), "predict")
watch("backpropagation", type(algorithm), "update")
watch("backpropagation", ReplayBuffer, "sample_transition_batch")
buffer = d3rlpy.dataset.create_fifo_replay_buffer(limit=10000, env=env)
quiet = {"show_progress": False, "logger_adapter": d3rlpy.logging.NoopAdapterFactory()}
algorithm.fit_online(
    env, buffer, ConstantEpsilonGreedy(0.1), n_steps=600, n_steps_per_epoch=300, update_start_step=100,
    eval_env=test, eval_n_trials=2, **quiet,
)  # fmt: skip
algorithm.fit(
    buffer, n_steps=400, n_steps_per_epoch=200,
    evaluators={"environment": d3rlpy.metrics.EnvironmentEvaluator(test, n_trials=2)}, **quiet,
)  # fmt: skip
print_learnt(algorithm.impl.modules.q_funcs)
