"""JAX: calls of compiled functions, the compiler, moving arrays, waiting for them; arrays as NumPy's."""

from rlscope.model import Category
from rlscope.record.boundary import Boundary, Maker

LIBRARY = "jaxlib._jax"

BOUNDARY = Boundary(
    library=LIBRARY,
    category=Category.BACKEND,
    functions=tuple(
        f"{LIBRARY}.{name}"
        for name in (
            "ArrayImpl.block_until_ready",
            "ArrayImpl._copy_single_device_array_to_host_async",
            "ArrayImpl._single_device_array_to_np_array_did_copy",
            "Client.compile",
            "Client.compile_and_load",
            "LoadedExecutable.execute_sharded",  # of functions with side effects, which Python runs
            "batched_block_until_ready",
            "batched_copy_array_to_devices_with_sharding",
            "batched_device_put",
        )
    ),
    buffers=(f"{LIBRARY}.ArrayImpl",),  # numpy.asarray(x) waits until x has been computed
    makers=(Maker(module=LIBRARY, function="pjit", type="PjitFunction", label="jax.jit"),),
    # jax.pure_callback, io_callback and debug.callback: on whichever thread runs the computation.
    callback_takers=(("jax._src.callback", "emit_python_callback"),),
)
