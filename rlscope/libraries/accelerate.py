"""Accelerate: the backward pass and the optimizer's step of trainers that are built on it, as TRL's are."""

from rlscope.record.declared.kinds import Hook, MethodHook

UPDATE = ("backpropagation", "update_actor")

HOOKS: tuple[Hook, ...] = (
    MethodHook("accelerate.accelerator", "Accelerator", "backward", UPDATE),
    MethodHook("accelerate.accelerator", "Accelerator", "clip_grad_norm_", UPDATE),
    MethodHook("accelerate.optimizer", "AcceleratedOptimizer", "step", UPDATE),
)
