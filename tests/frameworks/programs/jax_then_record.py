"""Records calls of functions that were compiled before, twice, from inside the program."""

import sys

import jax
import jax.numpy as jnp

import rlscope


@jax.jit
def early(x: jax.Array) -> jax.Array:
    return x + 1


x = early(jnp.ones(3))
for trace, calls in zip(sys.argv[1:], (10, 3), strict=True):
    with rlscope.profile(trace):
        late = jax.jit(lambda x: x + 2)
        for _ in range(calls):
            x = late(early(x))
    x = late(early(x))  # in no recording
print(float(x.sum()))
