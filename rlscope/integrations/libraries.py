"""All integrations, loaded when a process imports the first of their libraries."""

from rlscope.integrations import (
    ale,
    cleanrl,
    cloudpickle,
    dm_control,
    gym,
    gymnasium,
    jax,
    jax_profiler,
    pettingzoo,
    pyflyt,
    ranges,
    ray,
    rllib,
    sbx,
    stable_baselines3,
    tensorflow,
    tf_agents,
    torch_compile,
    torch_profiler,
)
from rlscope.record.hooks import FunctionHook, MethodHook, ProfilerHook, WrapperHook

HOOKS: tuple[FunctionHook | MethodHook | WrapperHook, ...] = (
    *gym.HOOKS,
    *gymnasium.HOOKS,
    *ale.HOOKS,
    *dm_control.HOOKS,
    *pettingzoo.HOOKS,
    *pyflyt.HOOKS,
    *stable_baselines3.HOOKS,
    *cleanrl.HOOKS,
    *torch_compile.HOOKS,
    *tensorflow.HOOKS,
    *tf_agents.HOOKS,
    *jax.HOOKS,
    *sbx.HOOKS,
    *ray.HOOKS,
    *rllib.HOOKS,
    *ranges.HOOKS,
    *cloudpickle.HOOKS,
)
PROFILERS: tuple[ProfilerHook, ...] = (torch_profiler.PROFILER, jax_profiler.PROFILER)
