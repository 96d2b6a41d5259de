"""PPO in one file over a vector of eight cart poles, in the style of CleanRL."""

import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical, Distribution

ENVIRONMENTS, STEPS, UPDATES, EPOCHS, MINIBATCH = 8, 64, 18, 4, 128


class Agent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))

    def act(self, observation: torch.Tensor, action: torch.Tensor | None = None):
        distribution = Categorical(logits=self.actor(observation))
        if action is None:
            action = distribution.sample()
        value = self.critic(observation).squeeze(-1)
        return action, distribution.log_prob(action), distribution.entropy(), value


def advantages_of(rewards: torch.Tensor, values: torch.Tensor, dones: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    advantages = torch.zeros_like(rewards)
    following = torch.zeros(ENVIRONMENTS)
    for t in reversed(range(STEPS)):
        next_value = last if t == STEPS - 1 else values[t + 1]
        delta = rewards[t] + 0.99 * next_value * (1 - dones[t]) - values[t]
        following = delta + 0.99 * 0.95 * (1 - dones[t]) * following
        advantages[t] = following
    return advantages


def main() -> None:
    Distribution.set_default_validate_args(False)
    torch.manual_seed(1)
    envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * ENVIRONMENTS)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
    observations = torch.zeros(STEPS, ENVIRONMENTS, 4)
    actions = torch.zeros(STEPS, ENVIRONMENTS, dtype=torch.long)
    log_probabilities, rewards, dones, values = (torch.zeros(STEPS, ENVIRONMENTS) for _ in range(4))
    began = time.perf_counter()
    observed, _ = envs.reset(seed=1)
    for _update in range(UPDATES):
        for t in range(STEPS):
            observation = torch.from_numpy(observed)
            with torch.no_grad():
                action, log_probability, _, value = agent.act(observation)
            observed, reward, terminated, truncated, _ = envs.step(action.numpy())
            observations[t], actions[t], log_probabilities[t], values[t] = observation, action, log_probability, value
            rewards[t] = torch.from_numpy(reward).float()
            dones[t] = torch.from_numpy(terminated | truncated).float()
        with torch.no_grad():
            last = agent.critic(torch.from_numpy(observed)).squeeze(-1)
        advantages = advantages_of(rewards, values, dones, last)
        returns = advantages + values
        flat = [x.reshape(STEPS * ENVIRONMENTS, *x.shape[2:]) for x in
                (observations, actions, log_probabilities, advantages, returns)]
        for _epoch in range(EPOCHS):
            order = np.random.permutation(STEPS * ENVIRONMENTS)
            for start in range(0, len(order), MINIBATCH):
                part = torch.from_numpy(order[start:start + MINIBATCH])
                observation, action, old, advantage, target = (x[part] for x in flat)
                _, new, entropy, value = agent.act(observation, action)
                ratio = (new - old).exp()
                surrogate = torch.min(advantage * ratio, advantage * ratio.clamp(0.8, 1.2)).mean()
                loss = -surrogate - 0.01 * entropy.mean() + 0.5 * (value - target).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
    envs.close()
    print(f"seconds {time.perf_counter() - began:.3f}")


if __name__ == "__main__":
    main()
