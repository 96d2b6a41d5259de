"""Acts and learns with networks of Flax's NNX and optimizers of Optax, compiled and not; prints how often, as JSON."""

import json

import jax
import jax.numpy as jnp
import optax
from flax import nnx

import rlscope

TIMES = 20


class Network(nnx.Module):
    def __init__(self) -> None:
        self.layers = nnx.List([nnx.Linear(4, 4, rngs=nnx.Rngs(layer)) for layer in range(8)])

    def __call__(self, x: jax.Array) -> jax.Array:
        for layer in self.layers:
            x = nnx.tanh(layer(x))
        return x


@nnx.jit
def act(network: Network, x: jax.Array) -> jax.Array:
    return network(x).argmax()


@nnx.jit
def learn(network: Network, optimizer: nnx.Optimizer, x: jax.Array) -> None:
    optimizer.update(network, nnx.grad(lambda network: network(x).sum())(network))


def train(parameters: jax.Array, state: optax.OptState, x: jax.Array) -> tuple[jax.Array, optax.OptState]:
    changes, state = adam.update(gradient(parameters, x), state, parameters)
    return optax.apply_updates(parameters, changes), state


x = jnp.ones((2, 4))
network = Network()
optimizer = nnx.Optimizer(network, optax.adam(1e-3), wrt=nnx.Param)
gradient = jax.jit(jax.grad(lambda parameters, x: (x @ parameters).sum()))
parameters, adam = jnp.ones(4), optax.adam(1e-3)
state = adam.init(parameters)
for _ in range(2):
    act(network, x), network(x), learn(network, optimizer, x), train(parameters, state, x)

with rlscope.phase("nnx"):
    for _ in range(TIMES):
        act(network, x).block_until_ready()
    for _ in range(TIMES):
        learn(network, optimizer, x)
with rlscope.phase("called"):
    for _ in range(TIMES):
        network(x).block_until_ready()
with rlscope.phase("optax"):
    for _ in range(TIMES):
        parameters, state = train(parameters, state, x)
    parameters.block_until_ready()
    for _ in range(TIMES):
        optax.incremental_update(parameters, parameters, 0.1)
looks = [act.__name__, Network.__call__.__qualname__, optax.apply_updates.__name__]
print(json.dumps({"calls": TIMES, "looks": looks}))
