"""Weights of the problem as the JAX workloads' networks hold them, and back."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from update_problem import Weights, layers, networks

DENSE = {"w": "kernel", "b": "bias"}
NORM = {"scale": "scale", "offset": "bias"}


def _network(problem: Weights, name: str) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for index in range(layers(problem, name)):
        for layer, keys in ((f"Dense_{index}", DENSE), (f"LayerNorm_{index}", NORM)):
            values = {theirs: problem.get(f"{name}.{index}.{ours}") for ours, theirs in keys.items()}
            if all(value is not None for value in values.values()):
                tree[layer] = {key: jnp.asarray(value) for key, value in values.items()}
    return tree


def with_weights(actor: Any, critics: Any, problem: Weights) -> tuple[Any, Any]:
    """The states with the problem's weights, in the trained and in the target networks."""
    names = [name for name in networks(problem) if name != "actor"]
    stacked = jax.tree.map(lambda *values: jnp.stack(values), *(_network(problem, name) for name in names))
    (wrapper,) = critics.params["params"]
    trees = {"params": _network(problem, "actor")}, {"params": {wrapper: stacked}}
    for state, tree in zip((actor, critics), trees, strict=True):
        assert jax.tree.structure(dict(state.params)) == jax.tree.structure(tree)
    # Apart from each other: what is given to a compiled function for good must not be given twice.
    return tuple(  # type: ignore[return-value]
        state.replace(params=tree, target_params=jax.tree.map(jnp.copy, tree))
        for state, tree in zip((actor, critics), trees, strict=True)
    )


def save(output: str, actor: Any, critics: Any, problem: Weights) -> None:
    (stacked,) = critics.params["params"].values()
    found = {}
    for name in networks(problem):
        if name == "actor":
            tree = actor.params["params"]
        else:
            number = int(name.removeprefix("critic"))
            tree = jax.tree.map(lambda value, number=number: value[number], stacked)
        for index in range(layers(problem, name)):
            for layer, keys in ((f"Dense_{index}", DENSE), (f"LayerNorm_{index}", NORM)):
                if layer in tree:
                    found |= {
                        f"{name}.{index}.{ours}": np.asarray(tree[layer][theirs]) for ours, theirs in keys.items()
                    }
    np.savez(output, **found)
