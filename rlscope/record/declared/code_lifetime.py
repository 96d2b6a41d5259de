"""Lets code live as long as the results of a profiler that keeps bare pointers to the code's names.

torch.profiler with stacks notes where in memory the names of what runs are, and reads them when it is asked for events.
But the code of a module is freed once that was imported, and so is what was compiled of text. What is there by then is
no name, and where the recorder has used the memory often not even text.
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from rlscope.record.declared.kinds import ProfilerHook
from rlscope.record.replacements import Replacements

#: Code, by its id.
Codes = dict[int, CodeType]


class CodeLifetime:
    """Knows which results have pointers to which code.

    Args:
        replacements: Where everything is put back from.
    """

    def __init__(self, replacements: Replacements) -> None:
        self._replacements = replacements
        self._of_results: WeakKeyDictionary[Any, Codes] = WeakKeyDictionary()

    def follow(self, module: ModuleType, hook: ProfilerHook) -> None:
        """Keep the code that runs from when this profiler prepares a recording until it has stopped."""
        if hook.prepares is None:
            return
        owner, method = vars(module).get(hook.prepares[0]), hook.prepares[1]
        if isinstance(owner, type) and method in vars(owner):
            self._replacements.replace(owner, method, self._beginning)
            for name in [name for name in hook.returns if name in vars(module)]:
                self._replacements.replace(module, name, self._ending)

    def _beginning(self, prepare: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(prepare)
        def beginning(results: Any, *args: Any, **kwargs: Any) -> Any:
            codes = self._of_results.setdefault(results, {})
            for frame in sys._current_frames().values():
                codes.update(_codes_of(frame))
            _executed.keep_in(codes)
            return prepare(results, *args, **kwargs)

        return beginning

    def _ending(self, stop: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(stop)
        def ending(*args: Any, **kwargs: Any) -> Any:
            _executed.keep_in(None)
            return stop(*args, **kwargs)

        return ending


def _codes_of(frame: FrameType | None) -> Iterator[tuple[int, CodeType]]:
    """Yield the code of a frame and of those that wait for it."""
    while frame is not None:
        yield id(frame.f_code), frame.f_code
        frame = frame.f_back


class _Executed:
    """Is told of code that is executed as a whole, as modules are; to the interpreter there is no way to end that."""

    def __init__(self) -> None:
        self._codes: Codes | None = None
        self._is_told = False

    def keep_in(self, codes: Codes | None) -> None:
        self._codes = codes
        if not self._is_told:
            self._is_told = True
            with contextlib.suppress(Exception):  # of a program that allows no such hooks
                sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        codes = self._codes
        if codes is not None and event == "exec" and arguments and type(arguments[0]) is CodeType:
            codes[id(arguments[0])] = arguments[0]


_executed = _Executed()
