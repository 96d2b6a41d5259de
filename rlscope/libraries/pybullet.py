"""PyBullet: every function of the module."""

from rlscope.model import Category
from rlscope.record.declared.kinds import Boundary

BOUNDARIES = (Boundary(library="pybullet", category=Category.SIMULATOR, containers=("pybullet",)),)
