"""Train TD3 or DDPG on a walking robot with TF-Agents and the published hyper-parameters, compiled or not.

graph: the loops are Python; the policy's action, storing a step, and an update are compiled functions.
autograph: collecting all steps of an iteration is one compiled function, all of its updates are another.
eager: as autograph, but nothing is compiled: each operation is a call from Python.

The operations of a recorded run come from `rlscope record` itself; this script reports its progress only, because
TF-Agents leaves the training loop to the user.

    python tf_agents_train.py --algo td3 --mode graph --env Walker2d-v5 --stop-after 12000
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # TF-Agents is written for Keras 2
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import gymnasium
import numpy as np
import tensorflow as tf
from command_line import chosen, make_parser
from environment import make, print_summary
from hyperparameters import Hyperparameters
from tf_agents.agents import TFAgent
from tf_agents.agents.ddpg.ddpg_agent import DdpgAgent
from tf_agents.agents.td3.td3_agent import Td3Agent
from tf_agents.drivers.dynamic_step_driver import DynamicStepDriver
from tf_agents.drivers.py_driver import PyDriver
from tf_agents.environments.batched_py_environment import BatchedPyEnvironment
from tf_agents.environments.py_environment import PyEnvironment
from tf_agents.environments.tf_py_environment import TFPyEnvironment
from tf_agents.networks.sequential import Sequential
from tf_agents.policies.gaussian_policy import GaussianPolicy
from tf_agents.policies.py_tf_eager_policy import PyTFEagerPolicy
from tf_agents.policies.random_tf_policy import RandomTFPolicy
from tf_agents.policies.tf_policy import TFPolicy
from tf_agents.replay_buffers.tf_uniform_replay_buffer import TFUniformReplayBuffer
from tf_agents.specs import array_spec, tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory
from tf_agents.utils import common, nest_utils

import rlscope

LAYER_NORM_EPSILON = 1e-5

Collect = Callable[[], None]


class GymnasiumEnvironment(PyEnvironment):
    """An environment of Gymnasium as TF-Agents sees one: a step after an episode's end is a reset."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__()
        self._env = env
        self._is_over = True

    def observation_spec(self) -> array_spec.ArraySpec:
        """Return what an observation looks like."""
        return array_spec.ArraySpec(self._env.observation_space.shape, np.float32, "observation")

    def action_spec(self) -> array_spec.BoundedArraySpec:
        """Return what an action looks like."""
        return array_spec.BoundedArraySpec(self._env.action_space.shape, np.float32, -1, 1, "action")

    def _reset(self) -> ts.TimeStep:
        self._is_over = False
        return ts.restart(self._env.reset()[0])

    def _step(self, action: np.ndarray[Any, Any]) -> ts.TimeStep:
        if self._is_over:
            return self.reset()
        observation, reward, is_terminal, is_cut, _ = self._env.step(action)
        self._is_over = is_terminal or is_cut
        reward = np.float32(reward)
        if is_terminal:
            return ts.termination(observation, reward)
        return ts.truncation(observation, reward) if is_cut else ts.transition(observation, reward)


def hidden_layers(algorithm: Hyperparameters) -> list[tf.keras.layers.Layer]:
    """Return the hidden layers of the actor and of a critic."""
    layers = []
    for width in algorithm.widths:
        layers.append(tf.keras.layers.Dense(width))
        if algorithm.layer_norm:
            layers.append(tf.keras.layers.LayerNormalization(epsilon=LAYER_NORM_EPSILON))
        layers.append(tf.keras.layers.ReLU())
    return layers


def actor_network(algorithm: Hyperparameters, observation: tf.TensorSpec, action: tf.TensorSpec) -> Sequential:
    """Return the network from an observation to an action."""
    output = tf.keras.layers.Dense(action.shape[0], activation="tanh")
    return Sequential([*hidden_layers(algorithm), output], input_spec=observation)


def critic_network(algorithm: Hyperparameters, observation: tf.TensorSpec, action: tf.TensorSpec) -> Sequential:
    """Return the network from an observation and an action to the expected return."""
    join = tf.keras.layers.Lambda(lambda inputs: tf.concat(inputs, axis=-1))
    squeeze = tf.keras.layers.Lambda(lambda value: tf.squeeze(value, axis=-1))
    output = tf.keras.layers.Dense(1)
    return Sequential([join, *hidden_layers(algorithm), output, squeeze], input_spec=(observation, action))


def make_agent(algorithm: Hyperparameters, time_step_spec: ts.TimeStep, action_spec: tf.TensorSpec) -> TFAgent:
    """Return TD3 if there are several critics, else DDPG."""
    specs = (time_step_spec.observation, action_spec)
    optimizers = {
        "actor_optimizer": tf.compat.v1.train.AdamOptimizer(algorithm.actor_rate, epsilon=algorithm.adam_epsilon),
        "critic_optimizer": tf.compat.v1.train.AdamOptimizer(algorithm.critic_rate, epsilon=algorithm.adam_epsilon),
    }
    shared = {
        "actor_network": actor_network(algorithm, *specs),
        "critic_network": critic_network(algorithm, *specs),
        "td_errors_loss_fn": tf.math.squared_difference,
        "target_update_tau": algorithm.tau,
        "target_update_period": algorithm.policy_delay,
        "gamma": algorithm.gamma,
        **optimizers,
    }
    if algorithm.critics == 1:
        agent = DdpgAgent(time_step_spec, action_spec, **shared)
    else:
        agent = Td3Agent(
            time_step_spec,
            action_spec,
            critic_network_2=critic_network(algorithm, *specs),
            actor_update_period=algorithm.policy_delay,
            target_policy_noise=algorithm.target_noise,
            target_policy_noise_clip=algorithm.target_noise_clip,
            # The actor is trained where this is a multiple of the period: with the targets, not one update before.
            train_step_counter=tf.Variable(1, dtype=tf.int64),
            **shared,
        )
    agent.initialize()
    return agent


def make_buffer(agent: TFAgent, algorithm: Hyperparameters) -> TFUniformReplayBuffer:
    """Return a ring of single steps; two that follow each other are a transition."""
    return TFUniformReplayBuffer(agent.collect_data_spec, batch_size=1, max_length=algorithm.buffer_size)


def batches(buffer: TFUniformReplayBuffer, size: int) -> Iterator[trajectory.Trajectory]:
    """Return random transitions."""

    def without_resets(drawn: trajectory.Trajectory, _: Any) -> trajectory.Trajectory:
        """Return transitions, with those across an episode's end replaced by the one drawn before."""
        order = tf.range(size)
        order = tf.where(drawn.is_boundary()[:, 0], tf.roll(order, 1, axis=0), order)
        return tf.nest.map_structure(lambda part: tf.gather(part, order), drawn)

    return iter(buffer.as_dataset(sample_batch_size=size, num_steps=2).map(without_resets))


def collector_in_python(environment: PyEnvironment, buffer: TFUniformReplayBuffer) -> Callable[..., Collect]:
    """Make functions that take steps in a Python loop; acting and storing are compiled."""
    state = [environment.reset()]

    @common.function
    def add(step: trajectory.Trajectory) -> None:
        buffer.add_batch(step)

    def make_collect(policy: TFPolicy, steps: int) -> Collect:
        observers = [lambda step: add(nest_utils.batch_nested_array(step))]
        driver = PyDriver(environment, PyTFEagerPolicy(policy, use_tf_function=True), observers, max_steps=steps)

        def collect() -> None:
            state[0], _ = driver.run(state[0])

        return collect

    return make_collect


def collector_in_tensorflow(environment: PyEnvironment, buffer: TFUniformReplayBuffer) -> Callable[..., Collect]:
    """Make functions that take steps in a loop of TensorFlow's, which calls the environment back."""
    environment = TFPyEnvironment(BatchedPyEnvironment([environment], multithreading=False))

    def make_collect(policy: TFPolicy, steps: int) -> Collect:
        run = common.function(DynamicStepDriver(environment, policy, [buffer.add_batch], num_steps=steps).run)

        def collect() -> None:
            run()

        return collect

    return make_collect


def make_update(
    agent: TFAgent, transitions: Iterator[trajectory.Trajectory], updates: int, mode: str
) -> Callable[[], None]:
    """Return the function that does all updates of an iteration."""

    def update() -> None:
        agent.train(next(transitions))

    def update_all() -> None:
        for _ in tf.range(updates):
            update()

    if mode != "graph":
        return tf.function(update_all)
    compiled = common.function(update)

    def update_in_turn() -> None:
        for _ in range(updates):
            compiled()

    return update_in_turn


def train(algorithm: Hyperparameters, env: gymnasium.Env[Any, Any], mode: str, total: int, stop: int) -> None:
    """Collect and update in turns; while it warms up, collect random steps only."""
    environment = GymnasiumEnvironment(env)
    time_step_spec, action_spec = map(tensor_spec.from_spec, (environment.time_step_spec(), environment.action_spec()))
    agent = make_agent(algorithm, time_step_spec, action_spec)
    buffer = make_buffer(agent, algorithm)
    make_collect = (collector_in_python if mode == "graph" else collector_in_tensorflow)(environment, buffer)
    collect_randomly = make_collect(RandomTFPolicy(time_step_spec, action_spec), algorithm.steps)
    collect = make_collect(GaussianPolicy(agent.policy, algorithm.exploration_noise), algorithm.steps)
    update = make_update(agent, batches(buffer, algorithm.batch_size), algorithm.updates, mode)

    for timesteps in range(algorithm.steps, stop + 1, algorithm.steps):
        if timesteps <= algorithm.warm_up:
            collect_randomly()
        else:
            collect()
            update()
        rlscope.report_progress(timesteps=timesteps, total_timesteps=total)


def main() -> None:
    """Build what the command line names, and train it."""
    parser = make_parser(__doc__)
    parser.add_argument("--mode", choices=("graph", "autograph", "eager"), required=True)
    arguments = parser.parse_args()

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if arguments.device == "cpu":
        tf.config.set_visible_devices([], "GPU")
    tf.config.run_functions_eagerly(arguments.mode == "eager")
    tf.keras.utils.set_random_seed(arguments.seed)
    algorithm = chosen(arguments)
    env = make(arguments.env, arguments.seed, algorithm)
    stop = arguments.stop_after or arguments.total_timesteps
    train(algorithm, env, arguments.mode, arguments.total_timesteps, stop)
    print(f"{arguments.algo} on {arguments.env}: {stop} timesteps")
    print_summary(env)


if __name__ == "__main__":
    main()
