"""Makes two updates with the SBX workload."""

import numpy as np
import sbx_train as workload
import torch
from jax_weights import save, with_weights
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.common.vec_env import DummyVecEnv
from update_problem import UPDATES, Shape, noiseless, parse

arguments = parse()
problem = dict(np.load(arguments.problem))
agent = workload.OffPolicy(DummyVecEnv([lambda: Shape(problem)]), noiseless(arguments.algo), seed=0)
policy = agent.policy
policy.actor_state, policy.qf_state = with_weights(policy.actor_state, policy.qf_state, problem)
fields = ("observation", "action", "next_observation", "done", "reward")
columns = [torch.as_tensor(problem[field].reshape(len(problem[field]), -1)) for field in fields]
agent.replay_buffer.sample = lambda *_, **__: ReplayBufferSamples(*columns)
agent.train(gradient_steps=UPDATES, batch_size=len(problem["reward"]))
save(arguments.output, policy.actor_state, policy.qf_state, problem)
