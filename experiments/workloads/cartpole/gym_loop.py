"""This file steps Gymnasium's CartPoles one by one in Python, on one core, with a policy in PyTorch."""

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray

from cartpole.implementation import Actions, Flags, Floats, Implementation, Policy, Trajectory
from cartpole.limits import check_counts, check_memory, check_trajectory, free_host_bytes
from cartpole.pytorch import drawn_actions, layers_on, usable_device

#: Of one environment with the wrappers that `gymnasium.make` puts around it; 6,700 were measured.
BYTES_EACH = 8192

#: States after a step, of shape (N, 4), and whether it terminated or truncated the episodes, of shape (N,).
Stepped = tuple[Floats, Flags, Flags]


class GymLoop(Implementation):
    """N of Gymnasium's environments; at each step their states go to the device, and actions come back."""

    name = "Gymnasium"

    def __init__(self, environments: int, steps_per_call: int, device: str, seed: int, policy: Policy) -> None:
        check_counts(environments, steps_per_call)
        self._device = usable_device(self.name, device)
        check_memory(self.name, environments, BYTES_EACH, free_host_bytes(), "cpu")
        torch.manual_seed(seed)
        self._random = np.random.default_rng(seed)
        self._steps_per_call = steps_per_call
        self._layers = layers_on(self._device, policy)
        self._envs = [gymnasium.make("CartPole-v1") for _ in range(environments)]
        seeds = np.random.SeedSequence(seed).generate_state(environments)
        resets = (env.reset(seed=int(own)) for env, own in zip(self._envs, seeds, strict=True))
        self._states = np.array([state for state, _ in resets])
        self.episodes = 0

    def collect(self) -> None:
        """Take K steps with the policy's actions; nothing is kept of them but the count of episodes that ended."""
        for _ in range(self._steps_per_call):
            self._step(self._drawn_actions())

    def simulate(self) -> None:
        """Take K steps with random actions; nothing is kept of them but the count of episodes that ended."""
        for _ in range(self._steps_per_call):
            self._step(self._random.integers(2, size=len(self._envs)).tolist())

    def synchronize(self) -> None:
        """Do nothing: when a call returns, its actions were waited for."""

    def replay(self, states: Floats, steps: NDArray[np.int32], actions: Actions) -> Trajectory:
        """Return what given actions do, in environments that are made for it."""
        check_trajectory(self.name, len(states), len(actions), free_host_bytes(), "cpu")
        envs = [gymnasium.make("CartPole-v1") for _ in states]
        for index, env in enumerate(envs):
            env.reset(seed=index)
            cartpole: Any = env.unwrapped
            cartpole.state = states[index].astype(np.float64)
            env.set_wrapper_attr("_elapsed_steps", int(steps[index]))
        return trajectory(states, actions, [stepped(envs, given) for given in actions.tolist()])

    def rollout(self) -> Trajectory:
        """Return what `collect` does, seen."""
        check_trajectory(self.name, len(self._envs), self._steps_per_call, free_host_bytes(), "cpu")
        start, actions, taken = self._states, [], []
        for _ in range(self._steps_per_call):
            actions.append(self._drawn_actions())
            taken.append(self._step(actions[-1]))
        return trajectory(start, np.array(actions, np.int32), taken)

    def _drawn_actions(self) -> list[int]:
        return drawn_actions(self._layers, torch.from_numpy(self._states).to(self._device)).tolist()

    def _step(self, actions: Iterable[int]) -> Stepped:
        taken = stepped(self._envs, actions)
        self._states, terminated, truncated = taken
        self.episodes += int((terminated | truncated).sum())
        return taken


def stepped(envs: Sequence[gymnasium.Env[Any, Any]], actions: Iterable[int]) -> Stepped:
    """Step the environments in turn, and reset those whose episode ended."""
    states, terminated, truncated = [], [], []
    for env, action in zip(envs, actions, strict=True):
        state, _, has_failed, is_late, _ = env.step(action)
        if has_failed or is_late:
            state, _ = env.reset()
        states.append(state)
        terminated.append(has_failed)
        truncated.append(is_late and not has_failed)
    return np.array(states), np.array(terminated), np.array(truncated)


def trajectory(start: Floats, actions: Actions, taken: Sequence[Stepped]) -> Trajectory:
    """Step one after the other, from these states."""
    states, terminated, truncated = zip(*taken, strict=True)
    return Trajectory(np.stack([start, *states]), actions, np.stack(terminated), np.stack(truncated))
