"""Acting, stepping and updating in one compiled function, of Brax's parts, as its trainers do; prints the losses."""

import json
from typing import Any

import jax
import jax.numpy as jnp
import optax
from brax import envs
from brax.training import gradients, networks

env = envs.training.wrap(envs.get_environment("fast"), episode_length=32)
network = networks.MLP(layer_sizes=(16, env.action_size))
state = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(7), 8))
parameters = network.init(jax.random.PRNGKey(7), state.obs)
optimizer = optax.adam(1e-2)


def compute_loss(parameters: Any, observations: jax.Array) -> jax.Array:
    return jnp.mean(network.apply(parameters, observations) ** 2)


update = gradients.gradient_update_fn(compute_loss, optimizer, pmap_axis_name=None)


@jax.jit
def iterate(state: Any, parameters: Any, optimizer_state: Any) -> tuple[Any, ...]:
    state = env.step(state, network.apply(parameters, state.obs))
    return state, *update(parameters, state.obs, optimizer_state=optimizer_state)


optimizer_state, losses = optimizer.init(parameters), []
for _ in range(10):
    state, loss, parameters, optimizer_state = iterate(state, parameters, optimizer_state)
    losses.append(float(loss))
print(json.dumps(losses))
