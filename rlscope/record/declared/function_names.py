"""Names of native functions that are called through objects, as those of ctypes are."""

import sys
from collections.abc import Collection
from types import FunctionType
from typing import Any

from rlscope.record.declared.callbacks import full_name


class FunctionNames:
    """Gives such functions their names.

    Args:
        packages: The packages that are known. What they call of their own libraries is not recorded.
    """

    def __init__(self, packages: Collection[str]) -> None:
        self._packages = packages

    def name_of(self, function: Any, library: str | None, symbol: str | None) -> str:
        """Return the name of a function, empty if its calls are not to be recorded.

        Args:
            function: The object that is called, or the Python function of which the code was made.
            library: The file of the code; None where there is none, empty of Python itself.
            symbol: The name of the code in it, if that has one.
        """
        if isinstance(function, FunctionType):
            return full_name(function)
        if library is None:
            return f"{type(function).__module__.strip('_')}.(code without a library)"
        if not library or self._is_known(library):
            return ""
        # What the program asked for: the linker may have chosen another one for this processor, without a name.
        asked_for = str(getattr(function, "__name__", ""))
        name = asked_for if asked_for.isidentifier() else symbol or "(function without a name)"
        return f"{library.rpartition('/')[2].partition('.so')[0]}.{name}"

    def _is_known(self, library: str) -> bool:
        if library == getattr(sys.modules.get("_ctypes"), "__file__", None):
            return True  # `ctypes.cast` and the like are Python's own
        files = (getattr(sys.modules.get(package), "__file__", None) or "" for package in self._packages)
        folders = [file.removesuffix("__init__.py") for file in files if file.endswith("/__init__.py")]
        return library.startswith(tuple(folders))
