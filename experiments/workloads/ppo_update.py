"""This file is PPO's update, for whatever actions: advantages, and passes over a rollout in minibatches."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

GAMMA, LAMBDA = 0.99, 0.95
CLIP = 0.2
VALUE_WEIGHT = 0.5
MOST_GRADIENT = 0.5


@dataclass(frozen=True)
class Settings:
    """This is what fits a task and a device.

    Attributes:
        environments: N.
        steps: K, of each environment in a rollout.
        learning_rate: of Adam; larger where batches are.
        epochs: passes over a rollout.
        minibatches: of a pass.
        entropy_weight: of what keeps actions random.
    """

    environments: int
    steps: int
    learning_rate: float
    epochs: int
    minibatches: int
    entropy_weight: float


@dataclass(frozen=True)
class Rollout:
    """K steps of N environments, as tensors of shape (K, N) on the device.

    Attributes:
        observations: before each step and after the last, of shape (K + 1, N, numbers).
        actions: numbers of shape (K, N), or of shape (K, N, motors).
        log_probabilities: of these actions when they were drawn.
        rewards: of the steps.
        terminated: whether the step ended the episode.
        truncated: whether the episode was cut off instead.
    """

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor


def perceptron(widths: tuple[int, ...]) -> Iterator[nn.Module]:
    """Yield linear layers with tanh between them."""
    for index in range(len(widths) - 1):
        if index:
            yield nn.Tanh()
        yield nn.Linear(widths[index], widths[index + 1])


def advantages(rollout: Rollout, values: Tensor) -> Tensor:
    """Return the advantages by generalised estimation, of shape (K, N).

    What follows a step that was cut off is not in the data: such a step has no advantage, and none of what comes later.

    Args:
        rollout: the steps.
        values: of its observations, of shape (K + 1, N).
    """
    result = torch.zeros_like(rollout.rewards)
    following = torch.zeros_like(values[0])
    goes_on = (~(rollout.terminated | rollout.truncated)).float()
    for step in reversed(range(len(result))):
        surprise = rollout.rewards[step] + GAMMA * values[step + 1] * goes_on[step] - values[step]
        following = torch.where(rollout.truncated[step], 0, surprise + GAMMA * LAMBDA * goes_on[step] * following)
        result[step] = following
    return result


def update(
    distribution: Callable[[Tensor], Distribution],
    critic: nn.Module,
    optimizer: torch.optim.Optimizer,
    rollout: Rollout,
    settings: Settings,
) -> None:
    """Make several passes over the rollout, in minibatches.

    Args:
        distribution: of the actions, given observations.
        critic: gives one value for each observation.
        optimizer: of the parameters of both.
        rollout: by the policy as it is.
        settings: say how many passes and minibatches.
    """
    with torch.no_grad():
        values = critic(rollout.observations).squeeze(-1)
    gains = advantages(rollout, values)
    # A step that was cut off teaches nothing.
    chosen = (~rollout.truncated).flatten().nonzero().squeeze(-1)
    observations, actions = (part.flatten(0, 1) for part in (rollout.observations[:-1], rollout.actions))
    before = rollout.log_probabilities.flatten()
    targets, gains = (gains + values[:-1]).flatten(), gains.flatten()
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for _ in range(settings.epochs):
        shuffled = chosen[torch.randperm(len(chosen), device=chosen.device)]
        for batch in shuffled.chunk(settings.minibatches):
            drawn = distribution(observations[batch])
            ratio = (drawn.log_prob(actions[batch]) - before[batch]).exp()
            gain = (gains[batch] - gains[batch].mean()) / (gains[batch].std() + 1e-8)
            policy_loss = -torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            value_loss = (critic(observations[batch]).squeeze(-1) - targets[batch]).square().mean()
            loss = policy_loss + VALUE_WEIGHT * value_loss - settings.entropy_weight * drawn.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, MOST_GRADIENT)
            optimizer.step()
