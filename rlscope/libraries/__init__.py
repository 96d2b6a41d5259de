"""The libraries that are known: one small file for each, which declares its `BOUNDARIES`, its `HOOKS`, or both.

Every recorded process reads the list below. A file is read when one of its packages is imported for the first time.
"""

#: By module, the packages for which it is read. Files of one package are applied in this order.
LIBRARIES = {
    f"{__name__}.{file}": packages
    for file, packages in {
        "torch": ("torch",),
        "torch_compile": ("torch",),
        "torch_data": ("torch",),
        "torch_distributed": ("torch",),
        "torch_functional_collectives": ("torch",),
        "ranges": ("torch", "nvtx"),
        "ctypes": ("ctypes",),
        "cffi": ("_cffi_backend",),
        "jax": ("jax", "jaxlib"),
        "flax": ("flax",),
        "tensorflow": ("tensorflow",),
        "tf_agents": ("tensorflow", "tf_agents"),
        "gym": ("gym",),
        "gymnasium": ("gymnasium",),
        "ale": ("ale_py",),
        "box2d": ("Box2D",),
        "brax": ("brax",),
        "dm_control": ("dm_control", "dm_env"),
        "envpool": ("envpool",),
        "gymnax": ("gymnax",),
        "mujoco": ("mujoco",),
        "mujoco_playground": ("mujoco_playground",),
        "numba": ("numba",),
        "open_spiel": ("pyspiel",),
        "pettingzoo": ("pettingzoo",),
        "pgx": ("pgx",),
        "pybullet": ("pybullet",),
        "pyflyt": ("PyFlyt",),
        "warp": ("warp",),
        "stable_baselines3": ("stable_baselines3", "sb3_contrib"),
        "sb3_contrib": ("sb3_contrib",),
        "cleanrl": ("cleanrl_utils",),
        "d3rlpy": ("d3rlpy",),
        "rsl_rl": ("rsl_rl",),
        "sbx": ("sbx",),
        "skrl": ("skrl",),
        "tianshou": ("tianshou",),
        "torchrl": ("torchrl",),
        "ray": ("ray",),
        "rllib": ("ray",),
        "accelerate": ("accelerate",),
        "transformers": ("transformers",),
        "trl": ("trl",),
        "verl": ("verl",),
        "cloudpickle": ("cloudpickle", "ray"),
        "wandb": ("wandb",),
    }.items()
}
