"""This file runs CartPole and policy in JAX, K steps at a time: XLA compiles one function that loops over steps."""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

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

Layers = Sequence[tuple[Array, Array]]

#: Of one environment: mostly results of the policy's hidden layers, 256 each, two of them alive at a time. 613 were
#: measured.
BYTES_EACH = 1024


class Batch(NamedTuple):
    """All environments.

    Attributes:
        states: of shape (4, N), so that positions, speeds and angles are contiguous.
        steps: that the episodes have lasted, of shape (N,).
        episodes: ended so far in each environment, of shape (N,). The running sum that keeps every step needed where
            no trajectory is kept; rewards need none, as each step's is 1.
        key: of the random numbers to come.
    """

    states: Array
    steps: Array
    episodes: Array
    key: Array


def drawn_actions(layers: Layers, states: Array, key: Array) -> Array:
    """Return actions that the policy draws, of shape (N,): 1 where a random number lies below the softmax of its
    second score.

    In float32, as all others are: left to itself, XLA may round the factors on a GPU to 10 bits.
    """
    values = states
    for index, (weight, bias) in enumerate(layers):
        inputs = jnp.tanh(values) if index else values
        values = jnp.matmul(weight, inputs, precision=jax.lax.Precision.HIGHEST) + bias[:, None]
    chance = jax.random.uniform(key, states.shape[1:])
    return (chance < jax.nn.sigmoid(values[1] - values[0])).astype(jnp.int32)


def new_starts(shape: tuple[int, ...], key: Array) -> Array:
    """Return new states."""
    return jax.random.uniform(key, shape, minval=-START, maxval=START)


def step(batch: Batch, choose: Callable[[Array, Array], Array]) -> tuple[Batch, Step]:
    """Move all environments; where an episode ends, to a new start.

    Args:
        batch: they.
        choose: actions for states, with a key.
    """
    key, action_key, start_key = jax.random.split(batch.key, 3)
    actions = choose(batch.states, action_key)
    following = jnp.stack(moved(jnp, batch.states, actions))
    steps = batch.steps + 1
    terminated = has_failed(following[0], following[2])
    truncated = (steps >= MOST_STEPS) & ~terminated
    has_ended = terminated | truncated
    states = jnp.where(has_ended, new_starts(following.shape, start_key), following)
    after = Batch(states, jnp.where(has_ended, 0, steps), batch.episodes + has_ended, key)
    return after, Step(states, actions, terminated, truncated)


def policy_step(layers: Layers, batch: Batch) -> tuple[Batch, Step]:
    """Take a step with the actions that the policy draws."""
    return step(batch, functools.partial(drawn_actions, layers))


def random_step(batch: Batch) -> tuple[Batch, Step]:
    """Take a step with actions drawn evenly."""
    return step(batch, lambda states, key: jax.random.bernoulli(key, shape=states.shape[1:]).astype(jnp.int32))


# The environments' memory is given back to the function that makes new ones of them.
compiled = functools.partial(jax.jit, static_argnames="steps", donate_argnames="batch")


@compiled
def collect(layers: Layers, batch: Batch, steps: int) -> Batch:
    """Step with the policy; the compiler leaves out what is not kept."""
    return jax.lax.scan(lambda batch, _: policy_step(layers, batch), batch, length=steps)[0]


@compiled
def simulate(batch: Batch, steps: int) -> Batch:
    """Step with random actions; the compiler leaves out what is not kept."""
    return jax.lax.scan(lambda batch, _: random_step(batch), batch, length=steps)[0]


@compiled
def roll_out(layers: Layers, batch: Batch, steps: int) -> tuple[Batch, Step]:
    """Step with the policy, all kept."""
    return jax.lax.scan(lambda batch, _: policy_step(layers, batch), batch, length=steps)


@jax.jit
def replay(batch: Batch, actions: Array) -> Step:
    """Step with given actions, all kept."""
    return jax.lax.scan(lambda batch, given: step(batch, lambda *_: given), batch, actions)[1]


class Xla(Implementation):
    """N environments and the policy as arrays on one device; K steps are one call."""

    name = "XLA"

    def __init__(self, environments: int, steps_per_call: int, device: str, seed: int, policy: Policy) -> None:
        check_counts(environments, steps_per_call)
        self._device = usable_device(device)
        check_memory(self.name, environments, BYTES_EACH, free_bytes(self._device), device)
        self._steps_per_call = steps_per_call
        pairs = zip(policy.weights, policy.biases, strict=True)
        self._layers = jax.device_put(list(pairs), self._device)
        with jax.default_device(self._device):
            key, start_key = jax.random.split(jax.random.key(seed))
            batch = started(new_starts((4, environments), start_key), key)
        # Bound to the device as what comes of a call is: the function would else be compiled again for the second call.
        self._batch = jax.device_put(batch, self._device)

    def collect(self) -> None:
        """Take K steps with the policy's actions; nothing is kept of them but the count of episodes that ended."""
        self._batch = collect(self._layers, self._batch, steps=self._steps_per_call)

    def simulate(self) -> None:
        """Take K steps with random actions; nothing is kept of them but the count of episodes that ended."""
        self._batch = simulate(self._batch, steps=self._steps_per_call)

    def synchronize(self) -> None:
        """Wait for the last call, all of whose results are there at once: calls return before they are done."""
        self._batch.states.block_until_ready()

    def replay(self, states: Floats, steps: NDArray[np.int32], actions: Actions) -> Trajectory:
        """Return what given actions do; the environments of `collect` stay as they are."""
        self._check_trajectory(len(states), len(actions))
        start, lasted, given = jax.device_put((states.T, steps, actions), self._device)
        with jax.default_device(self._device):
            batch = started(start, jax.random.key(0))._replace(steps=lasted)
            return trajectory(start, replay(batch, given))

    def rollout(self) -> Trajectory:
        """Return what `collect` does, seen."""
        self._check_trajectory(len(self._batch.steps), self._steps_per_call)
        start = jnp.copy(self._batch.states)
        self._batch, taken = roll_out(self._layers, self._batch, steps=self._steps_per_call)
        return trajectory(start, taken)

    def _check_trajectory(self, environments: int, steps: int) -> None:
        check_trajectory(self.name, environments, steps, free_bytes(self._device), self._device.platform)


def started(states: Array, key: Array) -> Batch:
    """Return environments at the beginning of their first episode, with such states, of shape (4, N)."""
    zeros = jnp.zeros(states.shape[1], jnp.int32)
    return Batch(states, zeros, jnp.copy(zeros), key)


def trajectory(start: Array, taken: Step) -> Trajectory:
    """Return the trajectory on the host.

    Args:
        start: states before the first step, of shape (4, N).
        taken: the steps.
    """
    states = jnp.concatenate([start[None], taken.states]).swapaxes(1, 2)
    return Trajectory(*(np.asarray(part) for part in (states, *taken[1:])))


def usable_device(device: str) -> jax.Device:
    """Return the device, if JAX can use it.

    Raises:
        UnavailableError: in one line.
    """
    try:
        return jax.devices(device)[0]
    except RuntimeError as error:
        raise UnavailableError(f"XLA on {device}: not testable here: {str(error).splitlines()[0]}") from error


def free_bytes(device: jax.Device) -> int:
    """Return the memory that is free there: of the host, or of the part of the GPU that JAX took when it began."""
    usage = device.memory_stats()
    return free_host_bytes() if usage is None else usage["bytes_limit"] - usage["bytes_in_use"]
