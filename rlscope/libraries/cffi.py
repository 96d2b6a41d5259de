"""cffi: a call of a function of a library that `FFI.dlopen` has loaded, or of a pointer to one, is native code."""

from rlscope.model import Category
from rlscope.record.declared.kinds import Boundary

BOUNDARIES = (
    Boundary(
        library="_cffi_backend",
        category=Category.NATIVE,
        function_objects=(("_cffi_backend._CDataBase", "address"),),
    ),
)
