"""Train TD3 or DDPG on a walking robot with whole loops compiled by JAX, and the published hyper-parameters.

One compiled call collects `--steps-per-call` steps, with the environment behind a callback from the compiled loop into
Python; another one makes all updates of an iteration. The replay buffer lies in JAX's memory. JAX leaves the training
loop to the user, so this script names its operations and reports its progress; simulation is found by
`rlscope record`, because the environment is Gymnasium's.

    python jax_loop.py --algo td3 --env Walker2d-v5 --stop-after 12000
"""

import argparse
import functools
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from command_line import chosen, make_parser
from environment import make, print_summary
from hyperparameters import Hyperparameters
from jax.experimental import io_callback
from jax_update import Batch, make_states, update
from sbx.common.type_aliases import RLTrainState

import rlscope


class Simulator:
    """The environment as the compiled loop sees it: a function of an action, which starts the next episode itself."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self.env = env
        size = env.observation_space.shape
        number = jax.ShapeDtypeStruct((), np.float32)
        observation = jax.ShapeDtypeStruct(size, np.float32)
        self.result = (observation, number, number, observation)

    def step(self, action: Any) -> tuple[Any, ...]:
        """Return where the action led, its reward, whether the episode ended there for good, and where to act next."""
        reached, reward, is_terminal, is_cut, _ = self.env.step(np.asarray(action))
        following = self.env.reset()[0] if is_terminal or is_cut else reached
        return reached, np.float32(reward), np.float32(is_terminal), following


class Agent(NamedTuple):
    """All that training changes."""

    actor: RLTrainState
    critics: RLTrainState
    buffer: Batch  # a ring of transitions
    observation: jax.Array
    timesteps: jax.Array
    updates: jax.Array
    key: jax.Array


def make_agent(algorithm: Hyperparameters, env: gymnasium.Env[Any, Any], capacity: int, seed: int) -> Agent:
    """Return an agent that has done nothing yet, at the start of an episode."""
    observation_size, action_size = env.observation_space.shape[0], env.action_space.shape[0]
    key, states_key = jax.random.split(jax.random.key(seed))
    actor, critics = make_states(algorithm, observation_size, action_size, states_key)
    buffer = Batch(
        observation=jnp.zeros((capacity, observation_size)),
        action=jnp.zeros((capacity, action_size)),
        reward=jnp.zeros(capacity),
        next_observation=jnp.zeros((capacity, observation_size)),
        done=jnp.zeros(capacity),
    )
    zero = jnp.zeros((), int)
    return Agent(actor, critics, buffer, jnp.asarray(env.reset()[0]), zero, jnp.copy(zero), key)


@functools.partial(jax.jit, static_argnames=("algorithm", "simulator", "steps", "warm_up"), donate_argnames="agent")
def collect(algorithm: Hyperparameters, simulator: Simulator, steps: int, warm_up: int, agent: Agent) -> Agent:
    """Take `steps` steps in one call; the first `warm_up` ones of the training at random."""

    def step(_: int, agent: Agent) -> Agent:
        key, noise_key, random_key = jax.random.split(agent.key, 3)
        action = agent.actor.apply_fn(agent.actor.params, agent.observation[None])[0]
        noise = algorithm.exploration_noise * jax.random.normal(noise_key, action.shape)
        random_action = jax.random.uniform(random_key, action.shape, minval=-1, maxval=1)
        action = jnp.where(agent.timesteps < warm_up, random_action, jnp.clip(action + noise, -1, 1))
        reached, reward, done, following = io_callback(simulator.step, simulator.result, action, ordered=True)
        place = agent.timesteps % len(agent.buffer.reward)
        taken = Batch(agent.observation, action, reward, reached, done)
        buffer = jax.tree.map(lambda ring, value: ring.at[place].set(value), agent.buffer, taken)
        return agent._replace(buffer=buffer, observation=following, timesteps=agent.timesteps + 1, key=key)

    return jax.lax.fori_loop(0, steps, step, agent)


@functools.partial(jax.jit, static_argnames=("algorithm",), donate_argnames="agent")
def learn(algorithm: Hyperparameters, agent: Agent) -> Agent:
    """Make all updates of an iteration in one call."""
    filled = jnp.minimum(agent.timesteps, len(agent.buffer.reward))

    def one(_: int, agent: Agent) -> Agent:
        key, places_key, noise_key = jax.random.split(agent.key, 3)
        places = jax.random.randint(places_key, (algorithm.batch_size,), 0, filled)
        batch = jax.tree.map(lambda ring: ring[places], agent.buffer)
        return one_update(algorithm, agent._replace(key=key), batch, noise_key)

    return jax.lax.fori_loop(0, algorithm.updates, one, agent)


def one_update(algorithm: Hyperparameters, agent: Agent, batch: Batch, key: jax.Array) -> Agent:
    """Return the update that is due: every so often the actor's as well."""
    updates = agent.updates + 1
    actor, critics = jax.lax.cond(
        updates % algorithm.policy_delay == 0,
        lambda: update(algorithm, agent.actor, agent.critics, batch, key, is_policy_updated=True),
        lambda: update(algorithm, agent.actor, agent.critics, batch, key, is_policy_updated=False),
    )
    return agent._replace(actor=actor, critics=critics, updates=updates)


@rlscope.operation("training_loop")
def train(arguments: argparse.Namespace, algorithm: Hyperparameters, env: gymnasium.Env[Any, Any]) -> Agent:
    """Alternate collecting and learning; call return before they are done, so each is waited for."""
    total, stop_after = arguments.total_timesteps, arguments.stop_after or arguments.total_timesteps
    steps, warm_up = arguments.steps_per_call or algorithm.steps, algorithm.warm_up
    simulator = Simulator(env)
    agent = make_agent(algorithm, env, min(algorithm.buffer_size, stop_after + algorithm.steps), arguments.seed)
    for timesteps in range(algorithm.steps, stop_after + 1, algorithm.steps):
        for _ in range(algorithm.steps // steps):
            with rlscope.operation("inference"):
                agent = jax.block_until_ready(collect(algorithm, simulator, steps, warm_up, agent))
        if timesteps > warm_up:
            with rlscope.operation("backpropagation"):
                agent = jax.block_until_ready(learn(algorithm, agent))
        rlscope.report_progress(timesteps=timesteps, total_timesteps=total)
    return agent


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("--steps-per-call", type=int, help="steps in one compiled call (default: all of an iteration)")
    parsed = parser.parse_args(arguments)
    steps = chosen(parsed).steps
    if steps % (parsed.steps_per_call or steps):
        parser.error(f"--steps-per-call must divide {steps}, the steps of an iteration")
    return parsed


def main() -> None:
    """Train as the command line says."""
    arguments = parse()
    # A callback gets its action on the CPU, also where the loop runs on a GPU.
    jax.config.update("jax_platforms", "cpu" if arguments.device == "cpu" else f"{arguments.device},cpu")
    algorithm = chosen(arguments)
    env = make(arguments.env, arguments.seed, algorithm)
    agent = train(arguments, algorithm, env)
    print(f"{arguments.algo} on {arguments.env}: {int(agent.timesteps)} timesteps")
    print_summary(env)


if __name__ == "__main__":
    main()
