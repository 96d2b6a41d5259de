"""This file updates TD3 and DDPG in JAX: it has SBX's networks with the published shapes, and one update of them."""

import functools
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from hyperparameters import Hyperparameters
from sbx.common.policies import VectorCritic
from sbx.common.type_aliases import RLTrainState
from sbx.td3.policies import Actor

LAYER_NORM_EPSILON = 1e-5


class Batch(NamedTuple):
    """Transitions, one per row, as arrays of JAX or of NumPy. After a terminal one, `done` 1, nothing is expected."""

    observation: Any
    action: Any
    reward: Any
    next_observation: Any
    done: Any


def layer_norm_relu(values: jax.Array) -> jax.Array:
    """Return layer normalisation, then ReLU; called inside a network, whose layer the normalisation becomes."""
    return nn.relu(nn.LayerNorm(epsilon=LAYER_NORM_EPSILON)(values))


def make_states(
    algorithm: Hyperparameters, observation_size: int, action_size: int, key: jax.Array
) -> tuple[RLTrainState, RLTrainState]:
    """Return the actor and the critics with their targets and optimizers."""
    shape: dict[str, Any] = {
        "net_arch": algorithm.widths,
        "activation_fn": layer_norm_relu if algorithm.layer_norm else nn.relu,
    }
    actor = Actor(action_dim=action_size, **shape)
    critics = VectorCritic(n_critics=algorithm.critics, dropout_rate=None, **shape)
    actor_key, critic_key = jax.random.split(key)
    observation, action = jnp.zeros((1, observation_size)), jnp.zeros((1, action_size))
    states = []
    for network, weights, rate in (
        (actor, actor.init(actor_key, observation), algorithm.actor_rate),
        (critics, critics.init(critic_key, observation, action), algorithm.critic_rate),
    ):
        optimizer = optax.adam(rate, eps=algorithm.adam_epsilon)
        copy = jax.tree.map(jnp.copy, weights)
        states.append(RLTrainState.create(apply_fn=network.apply, params=weights, target_params=copy, tx=optimizer))
    return states[0], states[1]


def targets(
    algorithm: Hyperparameters, actor: RLTrainState, critics: RLTrainState, batch: Batch, key: jax.Array
) -> jax.Array:
    """Return what the critics learn to expect."""
    actions = actor.apply_fn(actor.target_params, batch.next_observation)
    noise = algorithm.target_noise * jax.random.normal(key, actions.shape)
    limit = algorithm.target_noise_clip
    actions = jnp.clip(actions + jnp.clip(noise, -limit, limit), -1, 1)
    values = critics.apply_fn(critics.target_params, batch.next_observation, actions)[..., 0].min(axis=0)
    return batch.reward + (1 - batch.done) * algorithm.gamma * values


def follow(state: RLTrainState, tau: float) -> RLTrainState:
    """Move the target network towards the trained one."""
    return state.replace(target_params=optax.incremental_update(state.params, state.target_params, tau))


@functools.partial(jax.jit, static_argnames=("algorithm", "is_policy_updated"))
def update(
    algorithm: Hyperparameters,
    actor: RLTrainState,
    critics: RLTrainState,
    batch: Batch,
    key: jax.Array,
    is_policy_updated: bool,
) -> tuple[RLTrainState, RLTrainState]:
    """Make one update of the critics and, if it is time, of the actor and the target networks."""
    expected = targets(algorithm, actor, critics, batch, key)

    def critic_loss(weights: nn.FrozenDict[str, Any]) -> jax.Array:
        values = critics.apply_fn(weights, batch.observation, batch.action)[..., 0]
        return ((values - expected) ** 2).mean(axis=1).sum()

    critics = critics.apply_gradients(grads=jax.grad(critic_loss)(critics.params))
    if not is_policy_updated:
        return actor, critics

    def actor_loss(weights: nn.FrozenDict[str, Any]) -> jax.Array:
        return -critics.apply_fn(critics.params, batch.observation, actor.apply_fn(weights, batch.observation))[
            0
        ].mean()

    actor = actor.apply_gradients(grads=jax.grad(actor_loss)(actor.params))
    return follow(actor, algorithm.tau), follow(critics, algorithm.tau)
