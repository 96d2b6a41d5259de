"""PyBullet: every function of the module."""

from rlscope.model import Category
from rlscope.record.boundary import Boundary

BOUNDARY = Boundary(library="pybullet", category=Category.SIMULATOR, containers=("pybullet",))
