"""cProfile: a program that profiles itself. From Python 3.12 on nothing else tells of it while it runs."""

import json
from collections.abc import Callable
from typing import Any

from rlscope import _native
from rlscope.record.declared.kinds import Hook, WrapperHook


def _enabling(enable: Callable[..., Any]) -> Callable[..., Any]:
    def enabling(*args: Any, **kwargs: Any) -> Any:
        _native.write_properties(json.dumps({"profiler": "cProfile"}))
        return enable(*args, **kwargs)

    return enabling


HOOKS: tuple[Hook, ...] = (WrapperHook("cProfile", ("Profile", "enable"), _enabling, is_always=True),)
