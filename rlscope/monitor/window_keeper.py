"""A keeper looks after the windows of a run, beside it, until it is told to stop or that fails."""

import threading
from abc import ABC, abstractmethod
from pathlib import Path

from rlscope.errors import RLScopeError
from rlscope.monitor.windows import Windows

LOOK_AGAIN_S = 0.1


class WindowKeeper(ABC):
    """Looks after windows again and again.

    Args:
        run: The directory of the run.

    Attributes:
        error: Why that ended early, None where it did not.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self._windows = Windows(run)
        self._stopping = threading.Event()
        self.error: str | None = None

    def run(self) -> None:
        """Go on until told to stop. Made for a thread."""
        try:
            while True:
                self._look()
                if self._stopping.wait(LOOK_AGAIN_S):
                    return
        except (OSError, RLScopeError) as error:
            self.error = str(error)

    def stop(self) -> None:
        """End this; the window that is open stays so."""
        self._stopping.set()

    @abstractmethod
    def _look(self) -> None:
        """Do what is to be done now."""
