"""The page in which all processes of a run see what is asked for, and how they find it."""

from __future__ import annotations

from rlscope import _native
from rlscope.errors import RecordingError, TraceFormatError, reason_of
from rlscope.trace.files import open_regular
from rlscope.trace.windows import REQUESTS_NAME

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable

PAGE_BYTES = 4096
#: Three numbers and what is between them.
MOST_BYTES = 100


class RequestsPage:
    """The page. Each process sees at once what another one writes; src/core/recording/requests.h has its places.

    Args:
        memory: The page, mapped.
        made_by: The process that made it, `rlscope record`.
    """

    def __init__(self, memory: memoryview, made_by: int) -> None:
        self.made_by = made_by
        self._numbers = memory.cast("I")
        self._counts = memory.cast("Q")

    @property
    def asked(self) -> int:
        """Return what is asked for: odd while a window is to be recorded. Each request makes it larger."""
        return self._numbers[0]

    @asked.setter
    def asked(self, number: int) -> None:
        self._numbers[0] = number

    @property
    def ready(self) -> int:
        """Return the number of a window that a process may ask for at its own time."""
        return self._numbers[16]

    @ready.setter
    def ready(self, number: int) -> None:
        self._numbers[16] = number

    @property
    def reached(self) -> int:
        """Return the number of a window of which a process has recorded as many iterations as it is to have."""
        return self._numbers[17]

    @reached.setter
    def reached(self, number: int) -> None:
        self._numbers[17] = number

    @property
    def failure(self) -> tuple[int, int]:
        """Return the number of the window that a process could not record, and the errno that says why."""
        return self._numbers[18], self._numbers[19]

    @property
    def iterations(self) -> int:
        """Return how many iterations have ended in the process that has reported most."""
        return self._counts[16]

    @iterations.setter
    def iterations(self, count: int) -> None:
        self._counts[16] = count


def follow_requests(run: str, function: Callable[[], object]) -> RequestsPage:
    """Map the page of a run, and have the main thread call `function` when there is something new.

    Raises:
        RecordingError: it cannot be found.
    """
    path = f"{run}/{REQUESTS_NAME}"
    try:
        with open_regular(path, MOST_BYTES) as file:
            process, descriptor, inode = map(int, file.read(MOST_BYTES).split())
        return RequestsPage(_native.follow_requests(f"/proc/{process}/fd/{descriptor}", inode, function), process)
    except ValueError:
        raise RecordingError(f"{path} was changed, so what to record is not known") from None
    except (OSError, TraceFormatError) as error:
        raise RecordingError(
            f"what to record is not known: {path} names a page that cannot be opened ({reason_of(error)}); "
            "`rlscope record` has ended, or this process cannot see it in /proc"
        ) from error
