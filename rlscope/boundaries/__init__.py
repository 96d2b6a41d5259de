"""The boundaries that ship: one small file per library, which names modules, types and functions and nothing else."""

from rlscope.boundaries import (
    ale,
    blocking,
    box2d,
    jax,
    mujoco,
    open_spiel,
    pybullet,
    tensorflow,
    torch,
    torch_compile,
)
from rlscope.record.boundary import Boundary

BOUNDARIES: tuple[Boundary, ...] = (
    *blocking.BOUNDARIES,
    torch.BOUNDARY,
    torch_compile.BOUNDARY,
    jax.BOUNDARY,
    *tensorflow.BOUNDARIES,
    mujoco.BOUNDARY,
    pybullet.BOUNDARY,
    ale.BOUNDARY,
    box2d.BOUNDARY,
    open_spiel.BOUNDARY,
)
