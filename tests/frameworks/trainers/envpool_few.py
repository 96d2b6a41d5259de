"""A loop of a single file on EnvPool's CartPole: no library but EnvPool and PyTorch."""

import sys

import envpool
import numpy as np
import torch
from watch import print_learnt, watch

torch.set_num_threads(1)
torch.manual_seed(7)
env = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=64, seed=7, num_threads=1)
network = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)


def act(observations: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return torch.distributions.Categorical(logits=network(observations)).sample()


def update(seen: torch.Tensor, taken: torch.Tensor) -> None:
    loss = torch.nn.functional.cross_entropy(network(seen), taken)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


watch("backpropagation", sys.modules[__name__], "update")
watch("simulation", type(env), "step", "reset")
observations, _ = env.reset()
for _ in range(60):
    seen, taken = [], []
    for _ in range(20):
        seen.append(torch.as_tensor(observations, dtype=torch.float32))
        actions = act(seen[-1])
        taken.append(actions)
        observations, *_ = env.step(actions.numpy().astype(np.int32))
    update(torch.cat(seen), torch.cat(taken))
print_learnt(network)
