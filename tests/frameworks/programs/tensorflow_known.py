"""Spends time in each of TensorFlow's boundaries under an operation; prints seconds and counts as JSON.

Only the calls themselves are timed, by this script's own clock.
"""

import json
import threading
import time
from collections.abc import Callable

import known
import mujoco
import numpy as np
import tensorflow as tf
from known import CALLS, IN_CALLBACKS, SECONDS, THREADS, spin


def timed(name: str, work: Callable[[], object], times: int) -> None:
    work()  # the first time it may be traced
    IN_CALLBACKS[name] = 0
    known.timed(name, work, times)


def use_eager() -> None:
    x = tf.ones((1000, 1000))
    timed("operation", lambda: tf.linalg.matmul(x, x), 20)
    timed("operator", lambda: x @ x, 20)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x @ x
    timed("gradient", lambda: tape.gradient(y, x), 10)


def use_compiled() -> None:
    x = tf.ones((500, 500)) / 500

    @tf.function
    def multiply(y: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(20):
            y = tf.tanh(y @ x)
        return y

    timed("compiled", lambda: multiply(x), 10)
    concrete = multiply.get_concrete_function(x)
    timed("concrete", lambda: concrete(x), 10)
    items = iter(tf.data.Dataset.from_tensors(x).repeat().map(multiply))
    timed("dataset", lambda: next(items), 10)


def use_session() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, (500, 500))
        y = x
        for _ in range(20):
            y = tf.tanh(y @ x)
        values = np.ones((500, 500), np.float32) / 500
        timed("session", lambda: session.run(y.op, {x: values}), 10)


def use_callbacks() -> None:
    def in_numpy(y: np.ndarray) -> np.ndarray:
        spin("numpy_function")
        return y

    def in_tensorflow(y: tf.Tensor) -> tf.Tensor:
        spin("py_function")
        return y

    @tf.function
    def call_numpy(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(3):
            x = tf.ensure_shape(tf.numpy_function(in_numpy, [x], tf.float32), ())
        return x

    @tf.function
    def call_tensorflow(x: tf.Tensor) -> tf.Tensor:
        return tf.py_function(in_tensorflow, [x], tf.float32)

    one = tf.constant(1.0)
    timed("numpy_function", lambda: call_numpy(one), 5)
    timed("py_function", lambda: call_tensorflow(one), 10)

    @tf.custom_gradient
    def slow(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            spin("custom_gradient")
            return upstream

        return x + 1, gradient

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(one)
        y = slow(one)
    timed("custom_gradient", lambda: tape.gradient(y, one), 10)


def use_simulator() -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)

    def step(y: np.ndarray) -> np.ndarray:
        start = time.perf_counter()
        mujoco.mj_step(model, data, 3000)
        IN_CALLBACKS["simulator"] += time.perf_counter() - start
        return y

    @tf.function
    def simulate(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(3):
            x = tf.ensure_shape(tf.numpy_function(step, [x], tf.float32), ())
        return x

    one = tf.constant(1.0)
    timed("simulator", lambda: simulate(one), 20)


def use_arrays() -> None:
    array = np.ones((3, 3), np.float32)
    tensor = tf.constant(array)
    timed("to_tensor", lambda: tf.constant(array), 100)
    timed("to_array", lambda: tensor.numpy(), 100)
    timed("as_array", lambda: np.asarray(tensor), 100)


tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
for use in (use_eager, use_compiled, use_session, use_callbacks, use_simulator, use_arrays):
    use()
print(
    json.dumps(
        {
            "seconds": SECONDS,
            "calls": CALLS,
            "in_callbacks": IN_CALLBACKS,
            "other_threads": len(THREADS - {threading.get_ident()}),
        }
    )
)
