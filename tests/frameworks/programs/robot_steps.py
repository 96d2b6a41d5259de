"""Steps states of a robot in JAX, and environments: robot_steps.py WORKLOADS NAME STATES FOUND."""

import sys

import numpy as np

sys.path.insert(0, sys.argv[1])

import jax
import jax.numpy as jnp
from robots import xla
from robots.source import robot_of

name, states, found = sys.argv[2:]
robot = robot_of(name)
given = np.load(states)
q, v, actions = (list(jnp.asarray(given[key].T, jnp.float32)) for key in ("q", "v", "actions"))
q, v = jax.jit(lambda *numbers: xla.step(robot, *numbers))(q, v, actions)
environments = xla.Xla(name, 64, 20, "cpu", 1)
environments.simulate()
environments.synchronize()
batch = environments.batch
np.savez(
    found,
    q=np.stack(q).T,
    v=np.stack(v).T,
    **{key: np.asarray(getattr(batch, key)) for key in ("rewards", "ends", "lasted")},
)
