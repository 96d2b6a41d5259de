"""ctypes: a call of a function of a library that the program has loaded is native code."""

from rlscope.model import Category
from rlscope.record.declared.kinds import Boundary

BOUNDARIES = (
    Boundary(library="ctypes", category=Category.NATIVE, function_objects=(("_ctypes.CFuncPtr", "pointer"),)),
)
