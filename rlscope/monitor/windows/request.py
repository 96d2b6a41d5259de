"""A command asks `rlscope record` by this file for a window, or for the end of one."""

import json
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rlscope.errors import TraceFormatError
from rlscope.trace.files import read_regular
from rlscope.trace.manifest import write_in_one_step
from rlscope.trace.windows import ASKED_NAME

MOST_BYTES = 1000


def _new_id() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True)
class Request:
    """A request.

    Attributes:
        max_iterations: Iterations that a window is to have; None for no limit.
        max_seconds: Seconds that it is to have at most; None where no window is asked for.
        ends: The name of the window that is to end, or the id of the request for it; empty where none is.
        id: Which request this is. The manifest of the window has it, too.
    """

    max_iterations: int | None = None
    max_seconds: float | None = None
    ends: str = ""
    id: str = field(default_factory=_new_id)

    def write(self, run: Path) -> None:
        """Ask `rlscope record`.

        Raises:
            OSError: that cannot be written.
        """
        write_in_one_step(run / ASKED_NAME, json.dumps(asdict(self)) + "\n")


def read_request(run: Path) -> Request | None:
    """Return what is asked for and not taken yet; None if nothing is.

    Raises:
        TraceFormatError: it is no request.
        OSError: it cannot be read.
    """
    path = run / ASKED_NAME
    try:
        found = json.loads(read_regular(path, MOST_BYTES))
        request = Request(**found)
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError, TypeError) as error:
        raise TraceFormatError(f"{path} is no request: {error}") from error
    iterations, seconds = request.max_iterations, request.max_seconds
    is_whole = iterations is None or (type(iterations) is int and iterations > 0)
    is_time = seconds is None or (type(seconds) in (int, float) and 0 < seconds <= 1e9)
    if not (is_whole and is_time and isinstance(request.id, str) and isinstance(request.ends, str)):
        raise TraceFormatError(f"{path} is no request: numbers above 0 and texts were expected")
    return request
