"""Lends CUPTI, which serves one profiler at a time, to another profiler that the program uses."""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from rlscope import _native
from rlscope.record.declared.kinds import ProfilerHook
from rlscope.record.replacements import Replacements


class CuptiLending:
    """Knows which profiler has CUPTI now."""

    def __init__(self, replacements: Replacements) -> None:
        self._replacements = replacements
        self._holder: ProfilerHook | None = None

    def lend(self, module: ModuleType, hook: ProfilerHook) -> None:
        """Lets another profiler have CUPTI from when it starts until it has stopped."""
        takes, returns = ([name for name in names if name in vars(module)] for names in (hook.takes, hook.returns))
        if takes and returns:  # of a version that has one without the other, it would never come back
            for names, wrap in ((takes, self._taking), (returns, self._returning)):
                for name in names:
                    function = vars(module)[name]
                    original = self._replacements.original_of(function)  # the module imported it after it was replaced
                    self._replacements.put(
                        module, name, original or function, function if original else wrap(function, hook)
                    )

    def _taking(self, function: Callable[..., Any], hook: ProfilerHook) -> Callable[..., Any]:
        @functools.wraps(function)
        def taking(*args: Any, **kwargs: Any) -> Any:
            if self._holder is not None:  # one profiler inside another is an error, which is not ours to report
                return function(*args, **kwargs)
            self._holder = hook
            _native.release_cupti(hook.name)
            try:
                return function(*args, **kwargs)
            except BaseException:
                self._take_back(hook)
                raise

        return taking

    def _returning(self, function: Callable[..., Any], hook: ProfilerHook) -> Callable[..., Any]:
        @functools.wraps(function)
        def returning(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            finally:
                self._take_back(hook)

        return returning

    def _take_back(self, hook: ProfilerHook) -> None:
        if self._holder is hook:
            self._holder = None
            _native.reattach_cupti()
