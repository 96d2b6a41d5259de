"""A worker runs in a thread of its own beside the recorded command."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from rlscope.errors import reason_of

#: What hangs, as a driver may, must not keep the command's status from its caller.
PATIENCE_S = 1.0


class Worker(Protocol):
    """Works until it is told to stop.

    Attributes:
        error: Why that ended early, None where it did not.
    """

    error: str | None

    def run(self) -> None:
        """Work."""

    def stop(self) -> None:
        """End the work soon."""


W = TypeVar("W", bound=Worker)


def _work(worker: Worker) -> None:
    """Let it work. What nobody expected, as too little memory, is no traceback in the command's output."""
    try:
        worker.run()
    except Exception as error:
        worker.error = reason_of(error)


@contextmanager
def beside(worker: W) -> Iterator[W]:
    """Let a worker work while the block runs."""
    thread = threading.Thread(target=_work, args=(worker,), daemon=True)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(PATIENCE_S)
