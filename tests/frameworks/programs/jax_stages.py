"""Calls compiled functions that simulate, act, learn and do several of these; prints calls and seconds of each as JSON.

A call returns before its result is there: what waits for the result is timed, too. The first call compiles.
"""

import collections
import gc
import inspect
import json
import time
import weakref
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import gymnax
import jax
import jax.numpy as jnp
import pgx
from brax import envs

import rlscope

SECONDS: collections.Counter[str] = collections.Counter()
#: What all calls but the first would have taken, had each been as fast as the fastest of the same function.
LEAST_SECONDS: collections.Counter[str] = collections.Counter()
CALLS: collections.Counter[str] = collections.Counter()
TIMES = 20


class Net(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for _ in range(3):
            x = nn.relu(nn.Dense(400)(x))
        return x


def timed(name: str, function: Callable[..., Any], *arguments: Any) -> None:
    seconds = []
    for _ in range(TIMES):
        start = time.perf_counter_ns()
        result = jax.block_until_ready(function(*arguments))
        seconds.append((time.perf_counter_ns() - start) / 1e9)
        del result  # not while the next one is timed
    SECONDS[name] += sum(seconds)
    LEAST_SECONDS[name] += (TIMES - 1) * min(seconds)
    CALLS[name] += TIMES


key = jax.random.key(0)
net = Net()
batch = jnp.ones((256, 400))
weights = net.init(key, batch)

act = jax.jit(net.apply)
loss = jax.jit(lambda w, x: (net.apply(w, x) ** 2).sum())
learn = jax.jit(
    lambda w, x: jax.tree.map(
        lambda a, g: a - g, w, jax.grad(lambda v: ((net.apply(v, x) - net.apply(w, x)) ** 2).sum())(w)
    )
)
timed("inference", act, weights, batch)
timed("backpropagation", learn, weights, batch)
timed("neither", jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, y: jnp.tanh(y @ y.T @ y), x)), batch)
with rlscope.operation("backpropagation"), rlscope.operation("targets"):  # who annotates knows better
    jax.block_until_ready(act(weights, batch))

cartpole, parameters = gymnax.make("CartPole-v1")
_, state = jax.vmap(cartpole.reset, in_axes=(0, None))(jax.random.split(key, 4096), parameters)


def many_steps(state: Any) -> Any:
    """Many steps of many environments in one call."""

    def one(state: Any, _: None) -> Any:
        keys = jax.random.split(key, 4096)
        _, state, *_ = jax.vmap(cartpole.step, in_axes=(0, 0, 0, None))(keys, state, jnp.ones(4096, int), parameters)
        return state, None

    return jax.lax.scan(one, state, length=20)[0]


def act_and_step(state: Any, w: Any) -> Any:
    return many_steps(state), net.apply(w, batch)


timed("simulation", jax.jit(many_steps), state)
timed("simulation+inference", jax.jit(act_and_step), state, weights)
timed("simulation", jax.jit(cartpole.step), key, cartpole.reset(key, parameters)[1], 0, parameters)
go = pgx.make("go_9x9")
timed("simulation", jax.jit(jax.vmap(go.step)), jax.vmap(go.init)(jax.random.split(key, 64)), jnp.arange(64))
pendulum = envs.get_environment("inverted_pendulum", backend="spring")
timed("simulation", jax.jit(pendulum.step), jax.jit(pendulum.reset)(key), jnp.zeros(1))


def forgotten() -> list[weakref.ref[Any]]:
    """Compiled functions that nobody holds any more."""
    made = [jax.jit(lambda x, n=n: x + n) for n in range(5000)]
    made[0](1)
    return [weakref.ref(function) for function in made]


references = forgotten()
jax.clear_caches()
gc.collect()
print(
    json.dumps(
        {
            "seconds": SECONDS,
            "least_seconds": LEAST_SECONDS,
            "calls": CALLS,
            "alive": sum(reference() is not None for reference in references),
            "looks": [act.__name__, str(inspect.signature(loss)), loss.lower(weights, batch).as_text()[:6]],
        }
    )
)
