"""This file steps CartPole in C++ on all cores, with the policy in PyTorch, which gets states and returns actions."""

import ctypes
import weakref
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cartpole.implementation import Actions, Floats, Implementation, Policy, Trajectory, UnavailableError
from cartpole.limits import check_counts, check_memory, check_trajectory, free_host_bytes
from cartpole.pytorch import drawn_actions, free_bytes, layers_on, usable_device

#: Compiled from cpp_threads.cpp.
LIBRARY = Path(__file__).with_name("libcartpole.so")

#: Of one environment: mostly the policy's hidden layers.
BYTES_EACH = 1024

#: How a step ends an episode, as cartpole.h numbers it.
TERMINATED, TRUNCATED = 1, 2


@dataclass(frozen=True)
class Environments:
    """These are the values that the steps change, in memory that C++ and PyTorch share.

    Attributes:
        states: of shape (N, 4), float32.
        steps: that the episodes have lasted, of shape (N,), int32.
        ends: of the last step, of shape (N,), uint8.
    """

    states: Tensor
    steps: Tensor
    ends: Tensor


class CppThreads(Implementation):
    """N environments that a pool of threads steps, as many as PyTorch has."""

    name = "C++ threads"

    def __init__(self, environments: int, steps_per_call: int, device: str, seed: int, policy: Policy) -> None:
        check_counts(environments, steps_per_call)
        self._device = usable_device(self.name, device)
        check_memory(self.name, environments, BYTES_EACH, free_bytes(self._device), device)
        torch.manual_seed(seed)
        self._library = load_library()
        self._pool = ctypes.c_void_p(self._library.cartpole_pool(torch.get_num_threads()))
        weakref.finalize(self, self._library.cartpole_free, self._pool)
        self._steps_per_call = steps_per_call
        self._seed = ctypes.c_uint64(seed)
        self._now = 0
        # The GPU copies from and to memory that is pinned without the driver's own copy on the way.
        self._is_pinned = self._device.type == "cuda"
        self._environments = self._made(environments)
        self._actions = torch.empty(environments, dtype=torch.int32, pin_memory=self._is_pinned)
        at = self._environments
        self._library.cartpole_begin(pointer(at.states), pointer(at.steps), environments, self._seed)
        self.use(policy)

    def use(self, policy: Policy) -> None:
        """Act with other parameters from now on."""
        self._layers = layers_on(self._device, policy)

    def collect(self) -> None:
        """Take K steps with the policy's actions; nothing is kept of them but the states."""
        for _ in range(self._steps_per_call):
            self._step(self._environments, self._drawn_actions())

    def simulate(self) -> None:
        """Take K steps with random actions, in one call of C++; nothing is kept of them but the states."""
        at = self._environments
        where = (pointer(at.states), pointer(at.steps), len(at.steps))
        first = ctypes.c_uint64(self._now)
        self._library.cartpole_simulate(self._pool, *where, self._steps_per_call, first, self._seed)
        self._now += self._steps_per_call

    def synchronize(self) -> None:
        """Do nothing: when a call returns, its actions were waited for."""

    def replay(self, states: Floats, steps: NDArray[np.int32], actions: Actions) -> Trajectory:
        """Return what given actions do; the environments of `collect` stay as they are."""
        check_trajectory(self.name, len(states), len(actions), free_host_bytes(), "cpu")
        environments = self._made(len(states))
        environments.states.copy_(torch.from_numpy(states))
        environments.steps.copy_(torch.from_numpy(steps))
        seen = Seen(environments)
        for given in torch.from_numpy(np.ascontiguousarray(actions, np.int32)):
            self._step(environments, given)
            seen.add(given)
        return seen.trajectory()

    def rollout(self) -> Trajectory:
        """Return what `collect` does, seen."""
        check_trajectory(self.name, len(self._actions), self._steps_per_call, free_host_bytes(), "cpu")
        seen = Seen(self._environments)
        for _ in range(self._steps_per_call):
            actions = self._drawn_actions()
            self._step(self._environments, actions)
            seen.add(actions)
        return seen.trajectory()

    def _made(self, count: int) -> Environments:
        def empty(*shape: int, dtype: torch.dtype) -> Tensor:
            return torch.empty(shape, dtype=dtype, pin_memory=self._is_pinned)

        return Environments(
            empty(count, 4, dtype=torch.float32), empty(count, dtype=torch.int32), empty(count, dtype=torch.uint8)
        )

    def _drawn_actions(self) -> Tensor:
        actions = drawn_actions(self._layers, self._environments.states.to(self._device, non_blocking=True))
        return self._actions.copy_(actions) if self._is_pinned else actions

    def _step(self, at: Environments, actions: Tensor) -> None:
        where = (pointer(at.states), pointer(at.steps), pointer(actions), pointer(at.ends), len(at.steps))
        self._library.cartpole_step(self._pool, *where, ctypes.c_uint64(self._now), self._seed)
        self._now += 1


class Seen:
    """Keeps what steps do."""

    def __init__(self, environments: Environments) -> None:
        self._environments = environments
        self._states = [environments.states.numpy().copy()]
        self._actions: list[Actions] = []
        self._ends: list[NDArray[np.uint8]] = []

    def add(self, actions: Tensor) -> None:
        """Add the step that has just been made with these actions."""
        self._states.append(self._environments.states.numpy().copy())
        self._actions.append(actions.numpy().copy())
        self._ends.append(self._environments.ends.numpy().copy())

    def trajectory(self) -> Trajectory:
        """Return all steps."""
        ends = np.stack(self._ends)
        actions = np.stack(self._actions)
        return Trajectory(np.stack(self._states), actions, ends == TERMINATED, ends == TRUNCATED)


def pointer(tensor: Tensor) -> ctypes.c_void_p:
    """Return where its numbers begin."""
    return ctypes.c_void_p(tensor.data_ptr())


def load_library() -> ctypes.CDLL:
    """Return the compiled threads; calls of their functions leave Python's lock to others.

    Raises:
        UnavailableError: they have not been compiled.
    """
    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        raise UnavailableError(f"expected the compiled threads, found none: {error}; run `make simulators`") from error
    library.cartpole_pool.restype = ctypes.c_void_p
    for name in ("cartpole_free", "cartpole_begin", "cartpole_step", "cartpole_simulate"):
        getattr(library, name).restype = None
    return library
