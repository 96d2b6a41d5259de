"""Acts with a network of Haiku in environments of Jumanji, call by call and compiled; prints how often, as JSON."""

import json

import haiku
import jax
import jax.numpy as jnp
import jumanji

TIMES = 5
env = jumanji.make("Snake-v1")
key = jax.random.key(0)
network = haiku.without_apply_rng(haiku.transform(lambda x: haiku.nets.MLP([16, env.action_spec.num_values])(x)))
state, timestep = env.reset(key)  # in no compiled function


def features(timestep: jumanji.types.TimeStep) -> jax.Array:
    return timestep.observation.grid.reshape(-1)


parameters = network.init(key, features(timestep))
scores = network.apply(parameters, features(timestep))
state, timestep = env.step(state, jnp.argmax(scores))

act, step = jax.jit(network.apply), jax.jit(env.step)
learn = jax.jit(jax.grad(lambda parameters, x: network.apply(parameters, x).sum()))
for _ in range(TIMES):
    action = int(jnp.argmax(act(parameters, features(timestep))))
    state, timestep = step(state, action)
    jax.block_until_ready((state, learn(parameters, features(timestep))))
print(json.dumps({"calls": TIMES, "looks": network.apply.__name__}))
