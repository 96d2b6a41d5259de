"""A loop of one's own with models of Keras on TensorFlow, call by call and compiled; prints how often, as JSON."""

import json

import keras
import tensorflow as tf

import rlscope

TIMES = 20
network, target = (
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(16), keras.layers.Dense(2)]) for _ in range(2)
)
optimizer = keras.optimizers.Adam()
x = tf.ones((8, 4))


def learn() -> None:
    wanted = target(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((network(x) - wanted) ** 2)
    gradients = tape.gradient(loss, network.trainable_variables)
    optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))


act, update = tf.function(lambda: network(x)), tf.function(learn)
learn(), act(), update()
with rlscope.phase("acting"):
    for _ in range(TIMES):
        network(x)
with rlscope.phase("compiled acting"):
    for _ in range(TIMES):
        act()
with rlscope.phase("learning"):
    for _ in range(TIMES):
        learn()
with rlscope.phase("compiled learning"):
    for _ in range(TIMES):
        update()
print(json.dumps({"calls": TIMES, "looks": [network.__call__.__name__, tf.GradientTape.__enter__.__name__]}))
