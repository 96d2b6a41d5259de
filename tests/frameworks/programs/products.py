"""Multiplies large matrices on a CPU, where a library hands the work to its own threads: products.py jax|tensorflow"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import rlscope

SIZE, REPEATS = 1500, 12


def jax_product() -> Callable[[], Any]:
    """A compiled product, and the wait for its result."""
    import jax

    matrix = jax.numpy.asarray(np.random.default_rng(0).random((SIZE, SIZE), np.float32))
    product = jax.jit(lambda x: x @ x)
    return lambda: product(matrix).block_until_ready()


def tensorflow_product() -> Callable[[], Any]:
    """The same as a `tf.function`."""
    import tensorflow as tf

    matrix = tf.constant(np.random.default_rng(0).random((SIZE, SIZE), np.float32))
    product = tf.function(lambda x: tf.linalg.matmul(x, x))
    return lambda: product(matrix).numpy()


multiply = {"jax": jax_product, "tensorflow": tensorflow_product}[sys.argv[1]]()
multiply()
with rlscope.operation("products"):
    for _ in range(REPEATS):
        multiply()
