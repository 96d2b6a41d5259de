"""A stopwatch at the places that a user would annotate, and the annotation itself where it is wanted.

As in a recording, time in a stage inside another one is the inner one's.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import rlscope


class Stopwatch:
    """Times functions by stage.

    Attributes:
        is_by_hand: whether calls are annotated too.
        nanoseconds: spent in each stage.
    """

    def __init__(self) -> None:
        self.is_by_hand = False
        self.nanoseconds: Counter[str] = Counter()
        self._open, self._since = "", 0

    def stage(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Annotates and times a function; cheap, because what it costs lies between the stages."""
        operation = rlscope.operation(name)

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            def annotated(*args: Any, **kwargs: Any) -> Any:
                outer = self._enter(name)
                if self.is_by_hand:
                    with operation:
                        result = function(*args, **kwargs)
                else:
                    result = function(*args, **kwargs)
                self._enter(outer)
                return result

            return annotated

        return decorate

    def _enter(self, name: str) -> str:
        """Gives the stage that was open what has passed; returns its name, empty where none was."""
        now, outer = time.perf_counter_ns(), self._open
        if outer:
            self.nanoseconds[outer] += now - self._since
        self._open, self._since = name, now
        return outer
