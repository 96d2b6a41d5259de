"""A stopwatch at the places that a user would annotate, and the annotation itself where it is wanted.

As in a recording, time in a stage inside another one is the inner one's.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import rlscope


class Stopwatch:
    """Notes when functions of a stage begin and end.

    Attributes:
        is_by_hand: whether calls are annotated too.
        marks: the time of each begin, with the stage, and of each end, with an empty name. In ns.
    """

    def __init__(self) -> None:
        self.is_by_hand = False
        self.marks: list[tuple[int, str]] = []

    def stage(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Annotates and times a function, and does little else: what it does is in the recorded stage, or is not."""
        operation = rlscope.operation(name)
        now = time.perf_counter_ns

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            def annotated(*args: Any, **kwargs: Any) -> Any:
                self.marks.append((now(), name))
                if self.is_by_hand:
                    with operation:
                        result = function(*args, **kwargs)
                else:
                    result = function(*args, **kwargs)
                self.marks.append((now(), ""))
                return result

            return annotated

        return decorate


def nanoseconds(marks: Iterable[tuple[int, str]]) -> Counter[str]:
    """How long each stage was the innermost one."""
    spent: Counter[str] = Counter()
    open_stages: list[str] = []
    since = 0
    for now, name in marks:
        if open_stages:
            spent[open_stages[-1]] += now - since
        since = now
        if name:
            open_stages.append(name)
        else:
            open_stages.pop()
    return spent
