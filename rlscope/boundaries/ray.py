"""Ray: `ray.get` and `ray.wait` wait for what other processes make, and a worker waits for its next task."""

from rlscope.model import Category
from rlscope.record.boundary import Boundary

# Below the Python functions: what `ray.get` does with the values that it got is work.
BOUNDARY = Boundary(
    library="ray._raylet",
    category=Category.WAIT,
    functions=(
        "ray._raylet.CoreWorker.get_objects",
        "ray._raylet.CoreWorker.wait",
        "ray._raylet.CoreWorker.run_task_loop",
    ),
)
