"""The Arcade Learning Environment: every method of the emulator, one game or a vector of them."""

from rlscope.model import Category
from rlscope.record.boundary import Boundary

BOUNDARY = Boundary(
    library="ale_py",
    category=Category.SIMULATOR,
    containers=("ale_py._ale_py.ALEInterface", "ale_py._ale_py.ALEVectorInterface"),
    not_crossings=frozenset({"__init__"}),
)
