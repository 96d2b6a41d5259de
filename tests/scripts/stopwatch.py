"""A stopwatch at the places that a user would annotate, and the annotation itself where it is wanted."""

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

    def stage(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Annotates and times a function; cheap, because what it costs lies between the stages."""
        operation = rlscope.operation(name)
        now = time.perf_counter_ns

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            def annotated(*args: Any, **kwargs: Any) -> Any:
                start = now()
                if self.is_by_hand:
                    with operation:
                        result = function(*args, **kwargs)
                else:
                    result = function(*args, **kwargs)
                self.nanoseconds[name] += now() - start
                return result

            return annotated

        return decorate
