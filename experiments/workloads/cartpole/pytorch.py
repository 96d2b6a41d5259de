"""This file holds what the PyTorch implementations share: a step of all environments, and loops of such steps.

States lie as a matrix of four rows, one column per environment, so that positions, speeds and angles are contiguous.
Random numbers come from PyTorch's own generator, which each implementation seeds when it is made.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import linear

from cartpole.implementation import (
    MOST_STEPS,
    START,
    Actions,
    Floats,
    Implementation,
    Policy,
    Step,
    Trajectory,
    UnavailableError,
)
from cartpole.limits import check_counts, check_memory, check_trajectory, free_host_bytes
from cartpole.physics import has_failed, moved

Layers = Sequence[tuple[Tensor, Tensor]]
Function = Callable[..., Any]

#: Of one environment: mostly three results of the policy's hidden layers, 256 each, that are alive at a time. 880 were
#: measured in eager PyTorch.
BYTES_EACH = 1024


class Batch(NamedTuple):
    """All environments.

    Attributes:
        states: of shape (4, N).
        steps: that the episodes have lasted, of shape (N,).
        episodes: ended so far in each environment, of shape (N,). The running sum that keeps every step needed where
            no trajectory is kept; rewards need none, as each step's is 1.
    """

    states: Tensor
    steps: Tensor
    episodes: Tensor


def layers_on(device: torch.device, policy: Policy) -> Layers:
    """Return the policy's weights and biases there."""
    pairs = zip(policy.weights, policy.biases, strict=True)
    return [(torch.tensor(weight, device=device), torch.tensor(bias, device=device)) for weight, bias in pairs]


def drawn_actions(layers: Layers, states: Tensor) -> Tensor:
    """Return actions that the policy draws: 1 where a random number lies below the softmax of its second score.

    Args:
        layers: of the policy.
        states: of shape (N, 4).

    Returns:
        Of shape (N,), 0 or 1.
    """
    hidden = states
    for weight, bias in layers[:-1]:
        hidden = torch.tanh(linear(hidden, weight, bias))
    scores = linear(hidden, *layers[-1])
    chance = torch.rand(len(states), device=states.device)
    return (chance < torch.sigmoid(scores[:, 1] - scores[:, 0])).int()


def new_starts(like: Tensor) -> Tensor:
    """Return new states in a tensor of this shape."""
    return torch.empty_like(like).uniform_(-START, START)


def step(batch: Batch, actions: Tensor) -> tuple[Batch, Step]:
    """Move all environments; where an episode ends, to a new start."""
    following = torch.stack(moved(torch, batch.states.unbind(), actions))
    steps = batch.steps + 1
    terminated = has_failed(following[0], following[2])
    truncated = (steps >= MOST_STEPS) & ~terminated
    has_ended = terminated | truncated
    states = torch.where(has_ended, new_starts(following), following)
    after = Batch(states, steps.masked_fill(has_ended, 0), batch.episodes + has_ended)
    return after, Step(states, actions, terminated, truncated)


def policy_step(batch: Batch, layers: Layers) -> tuple[Batch, Step]:
    """Take a step with the actions that the policy draws."""
    return step(batch, drawn_actions(layers, batch.states.T))


def random_step(batch: Batch) -> tuple[Batch, Step]:
    """Take a step with actions drawn evenly."""
    return step(batch, torch.randint_like(batch.steps, 2))


#: Steps one after the other: from environments to what they are afterwards, and what the steps did, or None.
Loop = Callable[..., tuple[Batch, Any]]


class Environments(Implementation):
    """N environments and the policy as tensors on one device.

    The four public loops are made of steps. A subclass may say how one step runs (`_prepared`), and how a whole loop
    does (`_run`).
    """

    def __init__(self, environments: int, steps_per_call: int, device: str, seed: int, policy: Policy) -> None:
        check_counts(environments, steps_per_call)
        self._device = usable_device(self.name, device)
        check_memory(self.name, environments, BYTES_EACH, free_bytes(self._device), device)
        torch.manual_seed(seed)
        self._steps_per_call = steps_per_call
        self._layers = layers_on(self._device, policy)
        self._batch = started(new_starts(torch.empty(4, environments, device=self._device)))
        self._collect_step = self._prepared(lambda batch, layers: policy_step(batch, layers)[0])
        self._simulate_step = self._prepared(lambda batch: random_step(batch)[0])
        self._rollout_step = self._prepared(policy_step)
        self._replay_step = self._prepared(step)

    def collect(self) -> None:
        """Take K steps with the policy's actions; nothing is kept of them but the count of episodes that ended."""
        self._batch, _ = self._run(self._collecting, self._batch)

    def simulate(self) -> None:
        """Take K steps with random actions; nothing is kept of them but the count of episodes that ended."""
        self._batch, _ = self._run(self._simulating, self._batch)

    def synchronize(self) -> None:
        """Wait for the GPU; elsewhere calls are done when they return."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def replay(self, states: Floats, steps: NDArray[np.int32], actions: Actions) -> Trajectory:
        """Return what given actions do; the environments of `collect` stay as they are."""
        self._check_trajectory(len(states), len(actions))
        start = torch.tensor(states.T, device=self._device).contiguous()
        batch = started(start.clone())._replace(steps=torch.tensor(steps, device=self._device))
        _, taken = self._run(self._replaying, batch, torch.tensor(actions, device=self._device))
        return trajectory(start, taken)

    def rollout(self) -> Trajectory:
        """Return what `collect` does, seen."""
        self._check_trajectory(len(self._batch.steps), self._steps_per_call)
        start = self._batch.states.clone()
        self._batch, taken = self._run(self._rolling_out, self._batch)
        return trajectory(start, taken)

    def _prepared(self, function: Function) -> Function:
        """Return what runs one step: PyTorch, call by call."""
        return function

    def _run(self, loop: Loop, batch: Batch, *inputs: Tensor) -> tuple[Batch, Any]:
        """Run a loop of steps: Python does, step by step."""
        return loop(batch, *inputs)

    def _collecting(self, batch: Batch) -> tuple[Batch, None]:
        for _ in range(self._steps_per_call):
            batch = self._collect_step(batch, self._layers)
        return batch, None

    def _simulating(self, batch: Batch) -> tuple[Batch, None]:
        for _ in range(self._steps_per_call):
            batch = self._simulate_step(batch)
        return batch, None

    def _rolling_out(self, batch: Batch) -> tuple[Batch, Step]:
        taken = []
        for _ in range(self._steps_per_call):
            batch, one = self._rollout_step(batch, self._layers)
            taken.append(one)
        return batch, stacked(taken)

    def _replaying(self, batch: Batch, actions: Tensor) -> tuple[Batch, Step]:
        taken = []
        for given in actions:
            batch, one = self._replay_step(batch, given)
            taken.append(one)
        return batch, stacked(taken)

    def _check_trajectory(self, environments: int, steps: int) -> None:
        check_trajectory(self.name, environments, steps, free_bytes(self._device), self._device.type)


def started(states: Tensor) -> Batch:
    """Return environments at the beginning of their first episode, with such states, of shape (4, N)."""
    zeros = torch.zeros(states.shape[1], dtype=torch.int32, device=states.device)
    return Batch(states, zeros, zeros.clone())


def stacked(steps: Sequence[Step]) -> Step:
    """Step one after the other, as one."""
    return Step(*(torch.stack(parts) for parts in zip(*steps, strict=True)))


def trajectory(start: Tensor, taken: Step) -> Trajectory:
    """Return the trajectory on the host.

    Args:
        start: states before the first step, of shape (4, N).
        taken: the steps.
    """
    states = torch.cat([start[None], taken.states]).transpose(1, 2)
    return Trajectory(*(part.cpu().numpy() for part in (states, *taken[1:])))


def usable_device(name: str, device: str) -> torch.device:
    """Return the device, if PyTorch can use it.

    Raises:
        UnavailableError: in one line.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise UnavailableError(f"{name} on cuda: not testable here: PyTorch finds no GPU; use the device cpu")
    return torch.device(device)


def free_bytes(device: torch.device) -> int:
    """Return the memory that is free there, with what PyTorch keeps for later."""
    if device.type == "cpu":
        return free_host_bytes()
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
