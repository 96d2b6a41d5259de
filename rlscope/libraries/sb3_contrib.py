"""sb3-contrib: policies of its own; all else that it has is found by the hooks of Stable-Baselines3's classes."""

from rlscope.record.declared.kinds import FunctionHook, Hook, MethodHook

MASKABLE = ("sb3_contrib.common.maskable.policies", "MaskableActorCriticPolicy")

HOOKS: tuple[Hook, ...] = (
    FunctionHook("sb3_contrib.ppo_mask.ppo_mask", "get_action_masks", ("simulation", "action_masks")),
    MethodHook(*MASKABLE, "__call__", ("inference", "sample_action")),
    MethodHook(*MASKABLE, "predict_values", ("inference", "predict_values"), is_default=True),
)
