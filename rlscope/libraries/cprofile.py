"""cProfile: a program that profiles itself. From Python 3.12 on nothing else tells of it while it runs."""

import json
from collections.abc import Callable
from typing import Any

from rlscope import _native
from rlscope.record.declared.kinds import Hook, WrapperHook


def _telling(method: Callable[..., Any]) -> Callable[..., Any]:
    def telling(*args: Any, **kwargs: Any) -> Any:
        _native.write_properties(json.dumps({"profiler": "cProfile"}))
        return method(*args, **kwargs)

    return telling


#: What a program calls that wants a profile, or what is in it; `enable` is no method of the class itself.
_CALLED = ("__enter__", "runcall", "runctx", "create_stats")
HOOKS: tuple[Hook, ...] = tuple(
    WrapperHook("cProfile", ("Profile", name), _telling, is_always=True) for name in _CALLED
)
