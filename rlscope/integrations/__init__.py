"""Operations of known libraries without edits: one small file per library, which names classes and functions.

Other profilers that a program may use on itself have such a file too: they get what only one profiler can have.
"""

from rlscope.integrations import gym, gymnasium, jax_profiler, stable_baselines3, torch_profiler
from rlscope.record.hooks import FunctionHook, MethodHook, ProfilerHook

HOOKS: tuple[FunctionHook | MethodHook, ...] = gym.HOOKS + gymnasium.HOOKS + stable_baselines3.HOOKS
PROFILERS: tuple[ProfilerHook, ...] = (torch_profiler.PROFILER, jax_profiler.PROFILER)
