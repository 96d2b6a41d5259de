"""Programs that enter a user namespace, which the kernel refuses to a process of several threads: ours steps aside."""

from __future__ import annotations

from rlscope import _native
from rlscope.record import small_json

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, TypeAlias

    Replace: TypeAlias = Callable[[Any, str, Callable[[Any], Any]], None]

#: Functions of libc, and since Python 3.12 of `os`, that enter namespaces.
_ENTERING = ("unshare", "setns")


class Namespaces:
    """Ends the thread that looks at stacks before the process, or one that it forks, may enter a user namespace."""

    def __init__(self, replace: Replace) -> None:
        self._replace = replace

    def watch_os(self, module: ModuleType) -> None:
        """Step aside where `os.unshare` or `os.setns` is called."""
        for name in _ENTERING:
            if hasattr(module, name):
                self._replace(module, name, _alone)

    def watch_ctypes(self, module: ModuleType) -> None:
        """Step aside where a library is asked for one of these functions."""
        self._replace(module.CDLL, "__getitem__", _watching)


def _alone(function: Callable[..., Any]) -> Callable[..., Any]:
    def alone(*args: Any, **kwargs: Any) -> Any:
        _step_aside(function.__name__)
        return function(*args, **kwargs)

    return alone


def _watching(get: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def watching(library: Any, name: Any) -> Any:
        if name in _ENTERING:
            _step_aside(name)
        return get(library, name)

    return watching


def _step_aside(name: str) -> None:
    if _native.stop_sampling_stacks() and _native.is_recording():
        _native.write_properties(small_json.written({"stacks_until": name}))
