"""SBX, Stable-Baselines3 on JAX: what its classes replace is found by their base classes' hooks; the rest is here."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (MethodHook("sbx.ppo.policies", "PPOPolicy", "predict_all", ("inference", "sample_action")),)
