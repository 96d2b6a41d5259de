"""The packages that boundaries and integrations are for: where none is imported, neither are these."""

KNOWN_PACKAGES = frozenset(
    """
    ale_py Box2D brax cleanrl_utils cloudpickle dm_control dm_env flax gym gymnasium gymnax jax jaxlib mujoco nvtx
    pettingzoo pgx pybullet PyFlyt pyspiel ray sb3_contrib sbx stable_baselines3 tensorflow tf_agents torch
    """.split()
)
