"""Compiled functions that differentiate, act, do both or neither; prints seconds and counts of their calls as JSON.

All are traced in the first iteration, the calls of the second are timed by this script's own clock. In the end one is
traced again, in Python that spins.
"""

import collections
import json
import os
import time
from collections.abc import Callable

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
from tf_agents.environments.py_environment import PyEnvironment
from tf_agents.environments.tf_py_environment import TFPyEnvironment
from tf_agents.policies.random_tf_policy import RandomTFPolicy
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories.policy_step import PolicyStep
from tf_agents.utils import common

import rlscope

SECONDS: collections.Counter[str] = collections.Counter()
CALLS: collections.Counter[str] = collections.Counter()
TRACING_SECONDS = 0.2


def timed(name: str, work: Callable[[], object], times: int) -> None:
    for _ in range(times):
        start = time.perf_counter_ns()
        work()
        SECONDS[name] += (time.perf_counter_ns() - start) / 1e9
    CALLS[name] += times


def spin(seconds: float) -> None:
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pass


def compute(x: tf.Tensor) -> tf.Tensor:
    for _ in range(20):
        x = tf.tanh(x @ weights)
    return x


class Environment(PyEnvironment):
    """Spins in every step."""

    def observation_spec(self) -> array_spec.ArraySpec:
        return array_spec.ArraySpec((2,), np.float32)

    def action_spec(self) -> array_spec.BoundedArraySpec:
        return array_spec.BoundedArraySpec((1,), np.float32, -1, 1)

    def _reset(self) -> ts.TimeStep:
        return ts.restart(np.zeros(2, np.float32))

    def _step(self, action: np.ndarray) -> ts.TimeStep:
        start = time.perf_counter()
        spin(0.05)
        SECONDS["simulation"] += time.perf_counter() - start
        CALLS["simulation"] += 1
        return ts.transition(np.zeros(2, np.float32), np.float32(0))


class Policy(RandomTFPolicy):
    """Acts at random after a computation."""

    def _action(self, time_step: ts.TimeStep, policy_state: tuple[()], seed: int | None) -> PolicyStep:
        step = super()._action(time_step, policy_state, seed)
        return step._replace(action=step.action * tf.reduce_mean(compute(weights)))


@tf.function
def train(x: tf.Tensor) -> tf.Tensor:
    spin(TRACING_SECONDS)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = compute(x)
    return tape.gradient(y, x)


@tf.function
def neither(x: tf.Tensor) -> tf.Tensor:
    return compute(x)


@tf.function
def train_in_turn(x: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(2):
        x = train(x)
    return x


tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
weights = tf.ones((300, 300)) / 300
environment = TFPyEnvironment(Environment())
policy = Policy(environment.time_step_spec(), environment.action_spec())
act = common.function(policy.action)
step = common.function(environment.step)
now = environment.reset()


@tf.function
def act_and_train(x: tf.Tensor) -> tf.Tensor:
    policy.action(now)
    return train(x)


few, fewer = tf.ones((30, 300)), tf.ones((10, 300))
smaller = train.get_concrete_function(few)
action = act(now).action
for warm, argument in (train, weights), (train_in_turn, weights), (act_and_train, weights), (neither, weights):
    warm(argument)
step(action)
SECONDS.clear()
CALLS.clear()
rlscope.report_progress(timesteps=1, total_timesteps=2)
timed("backpropagation", lambda: train(weights), 20)
timed("backpropagation", lambda: train_in_turn(weights), 10)
timed("backpropagation", lambda: smaller(few), 20)
timed("sample_action", lambda: act(now), 20)
timed("inference+backpropagation", lambda: act_and_train(weights), 20)
timed("neither", lambda: neither(weights), 20)
timed("step", lambda: step(action), 20)
train(fewer)
rlscope.report_progress(timesteps=2, total_timesteps=2)
print(json.dumps({"seconds": SECONDS, "calls": CALLS, "tracing_seconds": TRACING_SECONDS}))
