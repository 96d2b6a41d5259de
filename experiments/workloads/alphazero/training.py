"""This file trains on the games of self-play: policy on the search's visits, value on the outcome."""

import torch
from torch import Tensor, nn

from alphazero.network import Network
from alphazero.play import Samples
from rlscope import operation, report_progress

BATCH = 128
LEARNING_RATE, WEIGHT_DECAY = 1e-3, 1e-4


def optimizer_of(network: Network) -> torch.optim.Optimizer:
    """Return what trains the network."""
    return torch.optim.Adam(network.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)


def train(
    network: Network, optimizer: torch.optim.Optimizer, samples: Samples, steps: int, device: str, seed: int
) -> float:
    """Train for so many minibatches, drawn from all positions.

    Returns:
        The last minibatch's loss.
    """
    data = [torch.from_numpy(part).to(device) for part in (samples.observations, samples.policies, samples.outcomes)]
    drawn = torch.Generator().manual_seed(seed)
    loss = torch.zeros(())
    network.train()
    with operation("training_loop"):
        for step in range(steps):
            batch = torch.randint(len(samples.outcomes), (BATCH,), generator=drawn).to(device)
            with operation("backpropagation"):
                loss = loss_of(network, *(part[batch] for part in data))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            report_progress(timesteps=step + 1, total_timesteps=steps)
    return float(loss.detach())


def loss_of(network: Network, observations: Tensor, policies: Tensor, outcomes: Tensor) -> Tensor:
    """Return cross entropy of the policy, and squared error of the value."""
    logits, values = network(observations)
    return nn.functional.cross_entropy(logits, policies) + nn.functional.mse_loss(values, outcomes)
