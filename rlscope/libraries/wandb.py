"""Weights & Biases: what is logged to a run."""

from rlscope.model import LOG
from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (MethodHook("wandb.sdk.wandb_run", "Run", "log", (LOG,)),)
