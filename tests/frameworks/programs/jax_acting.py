"""Q-learning on CartPole with a network written by hand; prints seconds of acting, stepping and updating as JSON.

What JAX's own Python does after a value was waited for is in no stage, and takes as long as a small network: `reading`
is how long it takes to make a number of a value that is there.
"""

import collections
import json
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

import rlscope

TURNS = 1500
SECONDS: collections.Counter[str] = collections.Counter()
Layers = list[tuple[jax.Array, jax.Array]]


def forward(layers: Layers, x: jax.Array) -> jax.Array:
    for weights, bias in layers[:-1]:
        x = jnp.tanh(x @ weights + bias)
    return x @ layers[-1][0] + layers[-1][1]


def loss(layers: Layers, seen: jax.Array, wanted: jax.Array) -> jax.Array:
    return jnp.mean((forward(layers, seen).max() - 0.9 * wanted) ** 2)


@jax.jit
def update(layers: Layers, *batch: Any) -> Layers:
    return jax.tree.map(lambda a, slope: a - 1e-4 * slope, layers, jax.grad(loss)(layers, *batch))


@jax.jit
def follow(target: Layers, layers: Layers) -> Layers:
    return jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b, target, layers)


@jax.jit
def choose(layers: Layers, x: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    key, used = jax.random.split(key)
    return values(layers, x) + 0.1 * jax.random.normal(used, (2,)), key


def act(observation: np.ndarray) -> int:
    global key
    scores, key = choose(layers, observation, key)
    return int(jnp.argmax(scores))


def learn(observation: np.ndarray, wanted: np.ndarray) -> Layers:
    learned = update(layers, observation, wanted)
    learned[0][0].block_until_ready()  # all are ready when one is
    return learned


def timed(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    start = time.perf_counter()
    result = function(*arguments)
    SECONDS[name] += time.perf_counter() - start
    return result


def turn(observation: np.ndarray) -> np.ndarray:
    global layers, target
    action = timed("inference", act, observation)
    reached, _, ended, cut, _ = timed("simulation", env.step, action)
    timed("reading", int, known)
    wanted = timed("neither", lambda: np.asarray(values(target, reached)).max())  # as a target's is before an update
    layers = timed("backpropagation", lambda: learn(observation, wanted))
    target = timed("neither", follow, target, layers)
    return env.reset()[0] if ended or cut else reached


values = jax.jit(forward)
key = jax.random.key(0)
known = jnp.argmax(jnp.zeros(2))
layers = target = [
    (0.1 * jax.random.normal(key, sizes), jnp.zeros(sizes[1])) for sizes in ((4, 128), (128, 128), (128, 2))
]
env = gymnasium.make("CartPole-v1")
observation, _ = env.reset(seed=1)
for _ in range(20):
    observation = turn(observation)
SECONDS.clear()
with rlscope.phase("measured"):
    for _ in range(TURNS):
        observation = turn(observation)
print(json.dumps({"seconds": SECONDS, "turns": TURNS}))
