"""A whole training in one call of one compiled function, steps and gradients in a scan, called with two seeds.

It prints, as JSON, the seconds of both calls with the wait for their results, which are what they return.
"""

import json
import time

import gymnax
import jax
import jax.numpy as jnp

STEPS = 100_000
env, parameters = gymnax.make("CartPole-v1")


def train(key: jax.Array) -> jax.Array:
    observation, state = env.reset(key, parameters)

    def loss_of(weights: jax.Array, observation: jax.Array) -> jax.Array:
        return jnp.sum((observation @ weights) ** 2)

    def step(carry: tuple, _: None) -> tuple:
        key, observation, state, weights = carry
        key, step_key = jax.random.split(key)
        gradients = jax.grad(loss_of)(weights, observation)
        action = (jnp.sum(observation @ weights) > 0).astype(jnp.int32)
        observation, state, reward, *_ = env.step(step_key, state, action, parameters)
        return (key, observation, state, weights - 1e-3 * gradients), reward

    return jax.lax.scan(step, (key, observation, state, jnp.ones((4, 1))), None, STEPS)[1].sum()


trained = jax.jit(train)
seconds, results = [], []
for seed in (1, 2):
    key = jax.block_until_ready(jax.random.PRNGKey(seed))
    start = time.perf_counter()
    results.append(float(trained(key)))
    seconds.append(time.perf_counter() - start)
print(json.dumps({"seconds": seconds, "results": results}))
