"""Spends time in each of JAX's boundaries under an operation; prints seconds, counts and results as JSON.

Only the calls themselves are timed, by this script's own clock.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
from known import CALLS, IN_CALLBACKS, SECONDS, spin, timed


@jax.jit
def multiply(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 20, lambda _, y: jnp.tanh(y @ x), x)


@jax.jit
def total(x: jax.Array) -> jax.Array:
    return multiply(x).sum()


@jax.jit
def pure(x: jax.Array) -> jax.Array:
    def back(y: jax.Array) -> np.ndarray:
        spin("pure_callback")
        return np.asarray(y)

    return jax.pure_callback(back, jax.ShapeDtypeStruct((), jnp.float32), x)


@jax.jit
def ordered(x: jax.Array) -> jax.Array:
    def back(y: jax.Array) -> np.ndarray:
        spin("io_callback")
        return np.asarray(y)

    def body(_: int, y: jax.Array) -> jax.Array:
        return jax.experimental.io_callback(back, jax.ShapeDtypeStruct((), jnp.float32), y, ordered=True)

    return jax.lax.fori_loop(0, 5, body, x)


@jax.jit
def debugged(x: jax.Array) -> jax.Array:
    jax.debug.callback(lambda y: spin("debug_callback"), x)
    return x + 1


def compiled_anew() -> None:
    """A function that is new each time is traced, lowered and compiled each time."""

    def new(x: jax.Array) -> jax.Array:
        for _ in range(40):
            x = jnp.sin(x) + x @ x
        return x

    jax.block_until_ready(jax.jit(new)(matrix))


matrix = jnp.ones((300, 300)) / 300
one = jnp.float32(1)
for warm, argument in ((multiply, matrix), (total, matrix), (pure, one), (ordered, one), (debugged, one)):
    jax.block_until_ready(warm(argument))
jax.effects_barrier()
SECONDS.clear()
IN_CALLBACKS.clear()
timed("block_until_ready", lambda: multiply(matrix).block_until_ready(), 30)
timed("numpy", lambda: np.asarray(multiply(matrix)), 30)
timed("item", lambda: total(matrix).item(), 30)
timed("pure_callback", lambda: jax.block_until_ready(pure(one)), 10)
timed("io_callback", lambda: jax.block_until_ready(ordered(one)), 2)
timed("debug_callback", lambda: (jax.block_until_ready(debugged(one)), jax.effects_barrier()), 10)
timed("compiling", compiled_anew, 3)
print(
    json.dumps(
        {
            "seconds": SECONDS,
            "calls": CALLS,
            "in_callbacks": IN_CALLBACKS,
        }
    )
)
