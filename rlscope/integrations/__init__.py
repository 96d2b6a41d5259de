"""Operations of known libraries without edits: one small file per library, which names classes and functions."""

from rlscope.integrations import gym, gymnasium, stable_baselines3
from rlscope.record.hooks import FunctionHook, MethodHook

HOOKS: tuple[FunctionHook | MethodHook, ...] = gym.HOOKS + gymnasium.HOOKS + stable_baselines3.HOOKS
