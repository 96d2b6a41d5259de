"""Trains a network eagerly, recorded; prints as JSON how often sys.setprofile saw functions of TensorFlow called."""

import json
import sys
from collections import Counter
from types import FrameType

import numpy as np
import tensorflow as tf

import rlscope

COUNTS: Counter[str] = Counter()
CROSSINGS = {
    "TFE_Py_FastPathExecute",
    "TFE_Py_Execute",
    "TFE_Py_TapeGradient",
    "_numpy_internal",
}
#: Python that a tape calls: sys.setprofile sees it as such.
CALLBACKS = {"_gradient_function", "_aggregate_grads", "_ones", "_zeros"}


def count(frame: FrameType, event: str, function: object) -> None:
    if event == "c_call" and getattr(function, "__name__", None) in CROSSINGS:
        COUNTS[function.__name__] += 1
    elif event == "call" and frame.f_code.co_name in CALLBACKS and frame.f_code.co_filename.endswith("backprop.py"):
        COUNTS[frame.f_code.co_name] += 1


weights = [tf.Variable(tf.random.normal((8, 8), seed=number)) for number in range(3)]


@tf.function
def compiled(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(x)


def update(x: tf.Tensor) -> None:
    with tf.GradientTape() as tape:
        y = x
        for weight in weights:
            y = tf.nn.relu(y @ weight) + x
        loss = tf.reduce_mean(y**2)
    for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
        weight.assign_sub(0.01 * gradient)
    compiled(x)
    loss.numpy()


x = tf.constant(np.ones((4, 8), np.float32))
update(x)
with rlscope.profile(sys.argv[1]):
    sys.setprofile(count)
    for _ in range(30):
        update(x)
    sys.setprofile(None)
print(json.dumps(COUNTS))
