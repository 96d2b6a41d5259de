"""All boundaries of libraries, loaded when a process imports the first of these."""

from rlscope.boundaries import (
    ale,
    box2d,
    jax,
    mujoco,
    open_spiel,
    pybullet,
    ray,
    tensorflow,
    torch,
    torch_compile,
)
from rlscope.record.boundary import Boundary

BOUNDARIES: tuple[Boundary, ...] = (
    torch.BOUNDARY,
    torch_compile.BOUNDARY,
    jax.BOUNDARY,
    *tensorflow.BOUNDARIES,
    mujoco.BOUNDARY,
    pybullet.BOUNDARY,
    ale.BOUNDARY,
    box2d.BOUNDARY,
    open_spiel.BOUNDARY,
    ray.BOUNDARY,
)
