"""Actor and critic on a cart pole, one update per episode, in the style of PyTorch's examples."""

import time

import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(4, 128)
        self.actor = nn.Linear(128, 2)
        self.critic = nn.Linear(128, 1)

    def forward(self, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = torch.relu(self.hidden(state))
        return torch.softmax(self.actor(hidden), dim=-1), self.critic(hidden)


def select_action(policy: Policy, state) -> tuple[int, torch.Tensor, torch.Tensor]:
    probabilities, value = policy(torch.from_numpy(state))
    distribution = Categorical(probabilities)
    action = distribution.sample()
    return int(action), distribution.log_prob(action), value


def finish_episode(optimizer: torch.optim.Optimizer, saved: list, rewards: list[float]) -> None:
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + 0.99 * total
        returns.append(total)
    target = torch.tensor(returns[::-1])
    target = (target - target.mean()) / (target.std() + 1e-6)
    log_probabilities = torch.stack([log_probability for log_probability, _ in saved])
    values = torch.cat([value for _, value in saved])
    advantage = target - values.detach()
    loss = -(log_probabilities * advantage).sum() + nn.functional.smooth_l1_loss(values, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main() -> None:
    torch.manual_seed(1)
    env = gym.make("CartPole-v1")
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    began = time.perf_counter()
    for episode in range(120):
        state, _ = env.reset(seed=episode)
        saved, rewards = [], []
        done = False
        while not done:
            action, log_probability, value = select_action(policy, state)
            state, reward, terminated, truncated, _ = env.step(action)
            saved.append((log_probability, value))
            rewards.append(float(reward))
            done = terminated or truncated
        finish_episode(optimizer, saved, rewards)
    print(f"seconds {time.perf_counter() - began:.3f}")


if __name__ == "__main__":
    main()
