"""REINFORCE on an environment that trades by a table of prices."""

import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

EPISODES, LENGTH, COLUMNS = 60, 100, 12


class Market(gym.Env):
    observation_space = gym.spaces.Box(-np.inf, np.inf, (COLUMNS,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.table = rng.standard_normal((5000, COLUMNS)).cumsum(0).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.start = self.now = int(self.np_random.integers(4000))
        return self.observe(), {}

    def observe(self) -> np.ndarray:
        return self.table[self.now]

    def step(self, action):
        before = self.table[self.now, 0]
        self.now += 1
        gain = float(self.table[self.now, 0] - before) * (int(action) - 1)
        return self.observe(), gain, self.now - self.start >= LENGTH, False, {}


def main() -> None:
    torch.manual_seed(1)
    env = Market()
    policy = nn.Sequential(nn.Linear(COLUMNS, 64), nn.Tanh(), nn.Linear(64, 3))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    began = time.perf_counter()
    for episode in range(EPISODES):
        observation, _ = env.reset(seed=episode)
        observations, actions, rewards = [], [], []
        done = False
        while not done:
            with torch.no_grad():
                probabilities = torch.softmax(policy(torch.from_numpy(observation)), -1)
            action = int(torch.multinomial(probabilities, 1))
            observations.append(observation)
            observation, reward, done, _, _ = env.step(action)
            actions.append(action)
            rewards.append(reward)
        gains = np.cumsum(np.array(rewards, np.float32)[::-1])[::-1].copy()
        log_probabilities = torch.log_softmax(policy(torch.from_numpy(np.stack(observations))), -1)
        taken = log_probabilities.gather(1, torch.tensor(actions)[:, None])[:, 0]
        loss = -(taken * torch.from_numpy(gains)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"seconds {time.perf_counter() - began:.3f}")


if __name__ == "__main__":
    main()
