"""A recurrent actor and critic with truncated backpropagation through time on a vector of pendulums."""

import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

ENVIRONMENTS, WINDOW, UPDATES = 4, 32, 60


class Agent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.memory = nn.LSTM(3, 64)
        self.head = nn.Linear(64, 2)

    def forward(self, sequence: torch.Tensor, state):
        hidden, state = self.memory(sequence, state)
        mean, value = self.head(hidden).split(1, -1)
        return 2 * torch.tanh(mean), value, state


def main() -> None:
    torch.manual_seed(1)
    envs = gym.vector.SyncVectorEnv([lambda: gym.make("Pendulum-v1")] * ENVIRONMENTS)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    state = (torch.zeros(1, ENVIRONMENTS, 64), torch.zeros(1, ENVIRONMENTS, 64))
    began = time.perf_counter()
    observation, _ = envs.reset(seed=1)
    for _update in range(UPDATES):
        start = state
        observations, actions, rewards = [], [], []
        for _step in range(WINDOW):
            now = torch.from_numpy(observation)
            with torch.no_grad():
                mean, _, state = agent(now[None], state)
            action = (mean[0] + 0.3 * torch.randn(ENVIRONMENTS, 1)).clamp(-2, 2)
            observation, reward, _, _, _ = envs.step(action.numpy())
            observations.append(now)
            actions.append(action)
            rewards.append(torch.from_numpy(reward.astype(np.float32)))
        sequence, taken, reward = torch.stack(observations), torch.stack(actions), torch.stack(rewards)
        for _epoch in range(4):
            mean, value, _ = agent(sequence, start)
            advantage = reward - value[..., 0]
            log_probability = -((taken - mean)[..., 0] / 0.3) ** 2 / 2
            loss = -(log_probability * advantage.detach()).mean() + advantage.pow(2).mean() * 0.01
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    envs.close()
    print(f"seconds {time.perf_counter() - began:.3f}")


if __name__ == "__main__":
    main()
