"""torch.compile: the kernels of Inductor's generated modules, and what the code around them allocates and launches."""

from rlscope.model import Category
from rlscope.record.boundary import Boundary, Loader

GUARDS = "torch._C._dynamo.guards"

BOUNDARY = Boundary(
    library="torch._inductor.codecache",
    category=Category.BACKEND,
    functions=(
        f"{GUARDS}._empty_strided_cpu",
        f"{GUARDS}._empty_strided_cuda",
        "torch._C._StaticCudaLauncher._launch_kernel",
    ),
    loaders=(
        Loader(
            module="torch._inductor.codecache",
            function="_reload_python_module",
            loaded=("PyCodeCache", "modules"),
            label="inductor",
        ),
    ),
)
