"""Steps Brax, MJX and ALE's vector environment in JAX, call by call and compiled; prints how often, as JSON."""

import json
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

TIMES = 10


def call(function: Callable[..., Any], *arguments: Any) -> dict[str, int]:
    """Compiles it first."""
    for _ in range(1 + TIMES):
        jax.block_until_ready(function(*arguments))
    return {f"jax.jit({function.__name__})": TIMES}


def brax_call_by_call() -> dict[str, int]:
    """Outside any compiled function, in wrappers; once before the recording, so that nothing is compiled in it."""
    from brax import envs
    from brax.envs.wrappers.training import AutoResetWrapper, VmapWrapper

    import rlscope

    env = AutoResetWrapper(VmapWrapper(envs.get_environment("fast")))
    keys, actions = jax.random.split(jax.random.key(0), 2), jnp.zeros((2, 1))
    for iteration in range(2):
        state = env.reset(keys)
        for _ in range(TIMES):
            state = env.step(state, actions)
        rlscope.report_progress(timesteps=iteration, total_timesteps=2)
    return {"steps": TIMES, "resets": 1}


def brax_compiled() -> dict[str, int]:
    """A step, and loops of steps in two functions that share their body, which JAX traces once."""
    from brax import envs

    env = envs.get_environment("inverted_pendulum", backend="spring")
    state = jax.jit(env.reset)(jax.random.key(0))
    state = jax.jit(env.step)(state, jnp.zeros(1))  # types are what they stay

    def turn(state: Any, _: None) -> Any:
        return env.step(state, jnp.zeros(1)), None

    def train(state: Any) -> Any:
        return jax.lax.scan(turn, state, length=20)[0]

    def evaluate(state: Any) -> Any:
        return jax.lax.scan(turn, state, length=20)[0].reward

    calls = call(jax.jit(turn), state, None) | call(jax.jit(train), state) | call(jax.jit(evaluate), state)
    for _ in range(TIMES):
        jax.block_until_ready(jax.jit(train)(state))  # a new one shares what was compiled
    return calls | {"jax.jit(train)": 2 * TIMES}


def mjx_compiled() -> dict[str, int]:
    """A state is made outside any compiled function, and is brought up to date and stepped in such ones."""
    import mujoco
    from mujoco import mjx

    xml = "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    model = mjx.put_model(mujoco.MjModel.from_xml_string(xml))
    data = mjx.make_data(model)

    def steps(data: mjx.Data) -> mjx.Data:
        return jax.lax.scan(lambda data, _: (mjx.step(model, data), None), data, length=20)[0]

    return call(jax.jit(mjx.forward), model, data) | call(jax.jit(steps), data)


def ale_compiled() -> dict[str, int]:
    """The emulator is a call inside the compiled program."""
    import ale_py
    import numpy as np

    env = ale_py.AtariVectorEnv("pong", num_envs=2, num_threads=1)
    env.reset(seed=1)
    handle, _, step = env.xla()
    return call(jax.jit(step), handle, jnp.zeros(2, np.int32))


WAYS = {function.__name__: function for function in (brax_call_by_call, brax_compiled, mjx_compiled, ale_compiled)}
print(json.dumps(WAYS[sys.argv[1]]()))
