"""A launch-bound PyTorch loop: one inference at batch 1 and one TD3-like update at batch 256 per iteration.

Three networks of 256-256 with their targets and an unfused soft update: about 200 kernels an iteration, each far
shorter than its launch.

    python td3_like.py --iterations 1000
"""

import argparse
import copy
import time
from collections.abc import Callable

import torch
from torch import nn

import rlscope

OBSERVATIONS, ACTIONS, BATCH = 17, 6, 256


def network(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers of 256."""
    return nn.Sequential(
        nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, outputs)
    ).cuda()


def make_iteration() -> Callable[[], None]:
    """An iteration of a new agent; each call acts once and learns once."""
    torch.manual_seed(0)
    actor = network(OBSERVATIONS, ACTIONS)
    critics = [network(OBSERVATIONS + ACTIONS, 1) for _ in range(2)]
    networks = [actor, *critics]
    targets = [copy.deepcopy(net) for net in networks]
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_optimizer = torch.optim.Adam([p for net in critics for p in net.parameters()], lr=1e-3)
    buffer = torch.randn(10_000, 2 * OBSERVATIONS + ACTIONS + 1)
    observation = torch.randn(1, OBSERVATIONS)

    def act() -> None:
        with torch.no_grad():
            actor(observation.cuda()).cpu()

    def learn() -> None:
        rows = torch.randint(len(buffer), (BATCH,))
        parts = torch.split(buffer[rows], [OBSERVATIONS, ACTIONS, OBSERVATIONS, 1], dim=1)
        state, action, following, reward = (part.cuda() for part in parts)
        with torch.no_grad():
            noise = torch.randn_like(action).mul(0.2).clamp(-0.5, 0.5)
            chosen = (targets[0](following).tanh() + noise).clamp(-1, 1)
            values = [target(torch.cat([following, chosen], 1)) for target in targets[1:]]
            wanted = reward + 0.99 * torch.minimum(*values)
        loss = sum(nn.functional.mse_loss(critic(torch.cat([state, action], 1)), wanted) for critic in critics)
        critic_optimizer.zero_grad()
        loss.backward()
        critic_optimizer.step()
        actor_loss = -critics[0](torch.cat([state, actor(state).tanh()], 1)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        with torch.no_grad():
            for net, target in zip(networks, targets, strict=True):
                for parameter, slow in zip(net.parameters(), target.parameters(), strict=True):
                    slow.mul_(0.995).add_(parameter, alpha=0.005)

    def iteration() -> None:
        with rlscope.operation("inference"):
            act()
        with rlscope.operation("backpropagation"):
            learn()

    return iteration


def main() -> None:
    """Runs so many iterations and prints how long one took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=1000)
    arguments = parser.parse_args()
    iteration = make_iteration()
    for _ in range(20):
        iteration()
    torch.cuda.synchronize()
    started_ns = time.perf_counter_ns()
    for number in range(arguments.iterations):
        iteration()
        rlscope.report_progress(timesteps=number + 1, total_timesteps=arguments.iterations)
    torch.cuda.synchronize()
    print(f"{(time.perf_counter_ns() - started_ns) / arguments.iterations / 1e6:.3f} ms per iteration")


if __name__ == "__main__":
    main()
