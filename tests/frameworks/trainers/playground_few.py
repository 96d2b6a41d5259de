"""Steps of MuJoCo Playground's cart, compiled, by MJX's JAX; prints what was seen last."""

import json

import jax
import jax.numpy as jnp
from mujoco_playground import registry

env = registry.load("CartpoleBalance", config_overrides={"impl": "jax"})
step = jax.jit(env.step)
state = jax.jit(env.reset)(jax.random.PRNGKey(7))
for _ in range(20):
    state = step(state, jnp.zeros(env.action_size))
print(json.dumps(state.obs.tolist()))
