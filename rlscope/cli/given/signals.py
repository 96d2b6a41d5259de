"""A verb that has begun something ends it by this file, also where a signal ends the verb."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_by(*numbers: int) -> Iterator[None]:
    """Let these signals end this process as an exit does, so that `finally` is run; but not those that are ignored."""
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as `nohup` has it
            signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: object) -> None:
    sys.exit(128 + number)
