"""Train PPO on robots that a device simulates, with Brax's networks, loss and gradients.

    python brax_ppo.py --env "MJX ant" --calls parts --device cuda

`parts`: Python calls three compiled functions, which act, step all environments and make the updates of an iteration.
`whole`: an iteration is one compiled function, as in Brax's own trainer, which needs what JAX no longer has. Nothing
here names a stage: those of a recorded run come from `rlscope record` itself. Prints one line of JSON.
"""

import argparse
import functools
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from batched_training import make_parser, print_iterations
from brax.training import acting, gradients
from brax.training.agents.ppo import losses, networks
from brax.training.types import Transition
from cartpole.implementation import UnavailableError
from simulators import ROBOTS, Robot, made

import rlscope

EPOCHS, MINIBATCHES = 4, 8
DISCOUNT, LEARNING_RATE = 0.97, 3e-4
#: What PPO has to know of a step besides what every algorithm does.
TRUNCATION = "truncation"

#: From a learner, the states of all environments and a key to the next ones.
Iteration = Callable[..., tuple[Any, Any, jax.Array]]


class Learner(NamedTuple):
    """All that updates change."""

    parameters: Any
    optimizer_state: Any


class Agent:
    """Brax's PPO: what acts, and the updates of an iteration."""

    def __init__(self, env: Any) -> None:
        self._networks = networks.make_ppo_networks(env.observation_size, env.action_size)
        self._make_policy = networks.make_inference_fn(self._networks)
        self._optimizer = optax.adam(LEARNING_RATE)
        loss = functools.partial(losses.compute_ppo_loss, ppo_network=self._networks, discounting=DISCOUNT)
        self._update = gradients.gradient_update_fn(loss, self._optimizer, pmap_axis_name=None, has_aux=True)

    def start(self, key: jax.Array) -> Learner:
        """Return a learner that has learnt nothing yet."""
        policy_key, value_key = jax.random.split(key)
        parameters = losses.PPONetworkParams(
            policy=self._networks.policy_network.init(policy_key),
            value=self._networks.value_network.init(value_key),
        )
        return Learner(parameters, self._optimizer.init(parameters))

    def policy(self, learner: Learner) -> Any:
        """Return the function from observations and a key to actions, and what the loss has to know of these."""
        return self._make_policy((None, learner.parameters.policy))

    def learn(self, learner: Learner, data: Transition, key: jax.Array) -> Learner:
        """Make several passes over a rollout, in minibatches of environments.

        Args:
            learner: what learns.
            data: of shape (K, N, ...), K steps of N environments.
            key: of what is drawn.
        """
        by_environment = jax.tree.map(lambda values: jnp.swapaxes(values, 0, 1), data)

        def minibatch(learner: Learner, drawn: tuple[Any, jax.Array]) -> tuple[Learner, None]:
            batch, key = drawn
            _, parameters, optimizer_state = self._update(
                learner.parameters, None, batch, key, optimizer_state=learner.optimizer_state
            )
            return Learner(parameters, optimizer_state), None

        def epoch(learner: Learner, key: jax.Array) -> tuple[Learner, None]:
            order_key, loss_key = jax.random.split(key)
            order = jax.random.permutation(order_key, len(by_environment.reward))
            batches = jax.tree.map(
                lambda values: values[order].reshape(MINIBATCHES, -1, *values.shape[1:]), by_environment
            )
            return jax.lax.scan(minibatch, learner, (batches, jax.random.split(loss_key, MINIBATCHES)))

        return jax.lax.scan(epoch, learner, jax.random.split(key, EPOCHS))[0]


def in_one_call(env: Any, agent: Agent, steps: int) -> Iteration:
    """Return an iteration that is one compiled function."""

    @jax.jit
    def iterate(learner: Learner, states: Any, key: jax.Array) -> tuple[Learner, Any, jax.Array]:
        key, rollout_key, learn_key = jax.random.split(key, 3)
        policy = agent.policy(learner)
        states, data = acting.generate_unroll(env, states, policy, rollout_key, steps, extra_fields=(TRUNCATION,))
        return agent.learn(learner, data, learn_key), of_one_type(states), key

    return iterate


def in_parts(env: Any, agent: Agent, steps: int) -> Iteration:
    """Return an iteration that is a loop in Python over compiled functions: two a step, one for all updates."""

    @jax.jit
    def step(states: Any, actions: jax.Array) -> Any:
        return of_one_type(env.step(states, actions))

    @jax.jit
    def act(learner: Learner, observations: jax.Array, key: jax.Array) -> tuple[jax.Array, Any, jax.Array]:
        key, own = jax.random.split(key)
        actions, extras = agent.policy(learner)(observations, own)
        return actions, extras, key

    @jax.jit
    def learn(learner: Learner, rollout: list[tuple[Any, ...]], key: jax.Array) -> tuple[Learner, jax.Array]:
        key, own = jax.random.split(key)
        data = jax.tree.map(lambda *values: jnp.stack(values), *(transition(*taken) for taken in rollout))
        return agent.learn(learner, data, own), key

    def iterate(learner: Learner, states: Any, key: jax.Array) -> tuple[Learner, Any, jax.Array]:
        rollout = []
        for _ in range(steps):
            actions, extras, key = act(learner, states.obs, key)
            following = step(states, actions)
            ends = following.done, following.info[TRUNCATION]
            rollout.append((states.obs, actions, extras, following.obs, following.reward, *ends))
            states = following
        learner, key = learn(learner, rollout, key)
        return learner, states, key

    return iterate


def of_one_type(states: Any) -> Any:
    """Return states of the same types after a reset and after a step: else JAX compiles what takes them twice."""
    return jax.tree.map(lambda values: jnp.asarray(values, values.dtype), states)


def transition(
    observation: jax.Array,
    action: jax.Array,
    policy_extras: Any,
    next_observation: jax.Array,
    reward: jax.Array,
    done: jax.Array,
    truncation: jax.Array,
) -> Transition:
    """Return a step as Brax's loss takes it."""
    extras = {"policy_extras": policy_extras, "state_extras": {TRUNCATION: truncation}}
    return Transition(observation, action, reward, 1 - done, next_observation, extras)


CALLS = {"parts": in_parts, "whole": in_one_call}


@rlscope.operation("training_loop")
def train(arguments: argparse.Namespace, robot: Robot) -> list[float]:
    """Return the seconds of each iteration, the first of which compiles. Each is waited for, as calls return early."""
    agent = Agent(robot.env)
    key, learner_key, env_key = jax.random.split(jax.random.PRNGKey(arguments.seed), 3)
    iterate = CALLS[arguments.calls](robot.env, agent, arguments.steps)
    learner, states = agent.start(learner_key), jax.jit(lambda key: of_one_type(robot.reset(key)))(env_key)
    timesteps_of_iteration = arguments.environments * arguments.steps
    seconds = []
    for timesteps in range(timesteps_of_iteration, arguments.stop_after + 1, timesteps_of_iteration):
        start_s = time.perf_counter()
        learner, states, key = jax.block_until_ready(iterate(learner, states, key))
        seconds.append(time.perf_counter() - start_s)
        rlscope.report_progress(timesteps=timesteps, total_timesteps=arguments.total_timesteps)
    return seconds


def parse() -> argparse.Namespace:
    """Return the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("--env", required=True, help="'Brax NAME', 'MJX NAME' or 'Playground NAME'")
    parser.add_argument("--calls", choices=CALLS, default="whole", help="what is compiled (default: whole)")
    arguments = parser.parse_args()
    if arguments.environments % MINIBATCHES:
        parser.error(f"expected a multiple of {MINIBATCHES} in --environments, found {arguments.environments}")
    return arguments


def main() -> None:
    """Train as the command line says."""
    arguments = parse()
    jax.config.update("jax_platforms", arguments.device)
    if arguments.device == "cuda":  # repetitions of a run need not compile the same for half a minute
        jax.config.update("jax_compilation_cache_dir", str(Path(tempfile.gettempdir()) / "compiled_by_xla"))
    try:
        robot: Robot = made(ROBOTS, arguments.env, arguments.environments)
    except (UnavailableError, ValueError) as error:
        sys.exit(f"brax_ppo.py: error: {error}")
    print_iterations(arguments.environments, robot.physics_steps, train(arguments, robot))


if __name__ == "__main__":
    main()
