"""This file runs other simulators that XLA compiles: gymnax's classic control, and the robots of Brax and of MuJoCo
Playground.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from cartpole.implementation import UnavailableError
from cartpole.limits import check_counts, check_memory
from cartpole.xla import free_bytes, usable_device

#: Steps after which Brax cuts an episode off.
EPISODE = 1000
#: Of the pyramid of a contact.
CONTACT_ROWS = 4

Function = Callable[..., Any]
#: From a key to the states of all environments; from a key and these to the next ones and their rewards.
Simulator = tuple[Function, Function]


def gymnax_simulator(name: str, environments: int) -> Simulator:
    """Return one of gymnax's environments, which begin again by themselves; actions are drawn from its action space."""
    import gymnax

    env, params = gymnax.make(name)

    def reset(key: jax.Array) -> Any:
        return jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(key, environments), params)

    def one(key: jax.Array, state: Any) -> Any:
        action_key, step_key = jax.random.split(key)
        action = env.action_space(params).sample(action_key)
        observation, state, reward, *_ = env.step(step_key, state, action, params)
        return (observation, state), reward

    def step(key: jax.Array, states: Any) -> Any:
        return jax.vmap(one)(jax.random.split(key, environments), states[1])

    return reset, step


class Robot(NamedTuple):
    """A robot's environments, with episodes that begin again by themselves.

    Attributes:
        env: that Brax's trainers take.
        reset: from one key to the states of all environments.
        physics_steps: that one step of an environment takes.
    """

    env: Any
    reset: Function
    physics_steps: int


def brax_robot(backend: str, name: str, environments: int) -> Robot:
    """Return one of Brax's robots."""
    from brax import envs

    env = envs.create(name, EPISODE, batch_size=environments, backend=backend)
    return Robot(env, env.reset, round(float(env.unwrapped.dt / env.unwrapped.sys.opt.timestep)))


def playground_robot(name: str, environments: int) -> Robot:
    """Return one of MuJoCo Playground's robots, by MJX's JAX."""
    from mujoco_playground import registry, wrapper

    env = registry.load(name, config_overrides={"impl": "jax"})
    wrapped = wrapper.wrap_for_brax_training(env, episode_length=EPISODE)
    return Robot(wrapped, lambda key: wrapped.reset(jax.random.split(key, environments)), env.n_substeps)


#: By the first word of a robot's name. Of Brax's own pipelines this is the fastest.
ROBOTS: dict[str, Callable[[str, int], Robot]] = {
    "Brax": functools.partial(brax_robot, "spring"),
    "MJX": functools.partial(brax_robot, "mjx"),
    "Playground": playground_robot,
}


def robot_simulator(make: Callable[[str, int], Robot], name: str, environments: int) -> Simulator:
    """Return a robot as a simulator; actions are drawn evenly from [-1, 1]."""
    env, reset, _ = make(name, environments)

    def step(key: jax.Array, states: Any) -> Any:
        actions = jax.random.uniform(key, (environments, env.action_size), minval=-1, maxval=1)
        states = env.step(states, actions)
        return states, states.reward

    return reset, step


def mjx_of_robot(implementation: str, name: str, environments: int) -> Simulator:
    """Return MJX on the model of robots/, which is what its kernel computes: MuJoCo's own equations.

    The rewards are the distances that the robots go; episodes never end. MJX's solver may take as many iterations as
    robots/native/step.h, and stops where MuJoCo's would.

    Args:
        implementation: "jax", which XLA compiles, or "warp", MuJoCo Warp's kernels called from XLA.
        name: of the robot.
        environments: how many.
    """
    from mujoco import mjx
    from robots.model import TASKS, mujoco_model
    from robots.source import robot_of

    model, task, most_contacts = mujoco_model(name), TASKS[name], len(robot_of(name).point_body)
    model.opt.iterations, model.opt.tolerance = 20, 1e-8
    model.opt.ls_iterations = 8 if implementation == "jax" else 50  # Warp warns where these are not enough
    on_device = mjx.put_model(model, impl=implementation)
    rows = most_contacts * CONTACT_ROWS + model.njnt
    room = {"naconmax": most_contacts * environments, "njmax": rows} if implementation == "warp" else {}
    blank = mjx.make_data(model, impl=implementation, **room)

    def reset(key: jax.Array) -> Any:
        noise = jax.random.uniform(key, (environments, model.nq), minval=-1, maxval=1)
        return jax.vmap(lambda own: blank.replace(qpos=blank.qpos + task.position_noise * own))(noise)

    def one(action: jax.Array, data: Any) -> Any:
        before = data.qpos[0]
        data = data.replace(ctrl=action)
        data, _ = jax.lax.scan(lambda data, _: (mjx.step(on_device, data), None), data, length=task.physics_steps)
        return data, data.qpos[0] - before

    def step(key: jax.Array, states: Any) -> Any:
        actions = jax.random.uniform(key, (environments, model.nu), minval=-1, maxval=1)
        return jax.vmap(one)(actions, states)

    return reset, step


#: By the first word of a simulator's name.
FAMILIES: dict[str, Callable[[str, int], Simulator]] = {
    "gymnax": gymnax_simulator,
    "MuJoCo": functools.partial(mjx_of_robot, "jax"),
    "MuJoCo-Warp": functools.partial(mjx_of_robot, "warp"),
    **{family: functools.partial(robot_simulator, make) for family, make in ROBOTS.items()},
}


def made(families: Mapping[str, Callable[[str, int], Any]], simulator: str, environments: int) -> Any:
    """Return the environments of one of these families.

    Raises:
        UnavailableError: a package is missing.
        ValueError: there is no such simulator.
    """
    family, _, name = simulator.partition(" ")
    try:
        return families[family](name, environments)
    except ImportError as error:
        raise UnavailableError(f"{simulator}: not testable here: {error}; install it") from error
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"expected a simulator such as 'Brax ant', found {simulator!r}; families are {', '.join(families)}"
        ) from error


class Simulation:
    """N environments of a simulator on one device; K steps with random actions are one call.

    Of the steps, the states, the last observations and the sum of each environment's rewards are kept.
    """

    def __init__(self, simulator: str, environments: int, steps_per_call: int, device: str, seed: int) -> None:
        """Compile the loop and make the environments.

        Args:
            simulator: a family and a name in it, such as "Brax ant".
            environments: N.
            steps_per_call: K.
            device: "cpu" or "cuda".
            seed: of starts and of actions.

        Raises:
            UnavailableError: a package is missing, or there is no such device.
            ValueError: there is no such simulator.
            MemoryError: they do not fit; the message says the largest N that does.
        """
        check_counts(environments, steps_per_call)
        place = usable_device(device)
        reset, step = made(FAMILIES, simulator, environments)

        def turn(carried: Any, _: None) -> Any:
            key, states, returns = carried
            key, own = jax.random.split(key)
            states, rewards = step(own, states)
            return (key, states, returns + rewards), None

        def start(key: jax.Array) -> Any:
            key, own = jax.random.split(key)
            return key, reset(own), jnp.zeros(environments)

        @functools.partial(jax.jit, donate_argnums=0)
        def simulate(carried: Any) -> Any:
            return jax.lax.scan(turn, carried, length=steps_per_call)[0]

        with jax.default_device(place):
            key = jax.random.PRNGKey(seed)
            shapes = jax.eval_shape(start, key)
            state_bytes = sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))
            self._check(simulator, environments, 2 * state_bytes, place)  # XLA aborts where it cannot even count them
            self._simulate = simulate.lower(shapes).compile()
            usage = self._simulate.memory_analysis()
            needed = usage.temp_size_in_bytes + usage.argument_size_in_bytes + usage.output_size_in_bytes
            self._check(simulator, environments, needed, place)
            self._carried = jax.jit(start)(key)

    def simulate(self) -> None:
        """Take K steps."""
        self._carried = self._simulate(self._carried)

    @staticmethod
    def _check(simulator: str, environments: int, needed_bytes: int, place: jax.Device) -> None:
        each = -(-needed_bytes // environments)
        check_memory(simulator, environments, each, free_bytes(place), place.platform)

    def synchronize(self) -> None:
        """Wait for the last call: calls return before they are done."""
        jax.block_until_ready(self._carried)
