"""A keeper of windows says what it cannot do now: at once, but once, and in a file of the run until it is over."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rlscope.errors import reason_of
from rlscope.trace.manifest import write_in_one_step
from rlscope.trace.windows import TROUBLE_NAME

#: What has not happened for so long is said again.
FORGOTTEN_S = 600.0


class Troubles:
    """The troubles of a keeper, gathered anew at each look.

    Args:
        run: The directory of the run.
        say: Tells the user one line.
    """

    def __init__(self, run: Path, say: Callable[[str], object]) -> None:
        self._run = run
        self._say = say
        self._found: dict[tuple[str, str], list[str]] = {}  # at this look: what and the kind of why, to sentences
        self._last_s: dict[tuple[str, str], float] = {}
        self._listed = ""
        self.settle()

    @contextmanager
    def trying(self, what: str, where: Path | None = None) -> Iterator[None]:
        """Go on after an error in the block, which then is a trouble of this look.

        Args:
            what: What cannot be done, such as "cannot be removed".
            where: The window that this is about; None for the run.
        """
        try:
            yield
        except Exception as error:  # whatever it is: nobody else looks after the windows
            self.note(what, error, where)

    def note(self, what: str, error: Exception, where: Path | None = None) -> None:
        """Note a trouble of this look."""
        cause = cause_of(error)
        reason = reason_of(cause)
        kind = reason if isinstance(cause, OSError) else type(cause).__name__
        sentence = f"{(where or self._run).name} {what}: {reason}"
        self._found.setdefault((what, kind), []).append(" ".join(sentence.split()))

    def settle(self) -> None:
        """End a look: say what is new, and list what there is, below an empty line.

        So the file is there before the disk is full, and has room in it then.
        """
        now_s = time.monotonic()
        lines = ["\n"]
        for kind, (first, *others) in self._found.items():
            if now_s - self._last_s.get(kind, float("-inf")) >= FORGOTTEN_S:
                self._say(f"{first}. It is tried again")
            self._last_s[kind] = now_s
            lines.append(f"{first} (and {len(others)} more)\n" if others else f"{first}\n")
        self._found = {}
        if (text := "".join(lines)) != self._listed:
            with suppress(OSError):  # tried again at the next look
                write_in_one_step(self._run / TROUBLE_NAME, text)
                self._listed = text


def cause_of(error: Exception) -> BaseException:
    """Return the error of the system by which another one came about, else that itself."""
    return error.__cause__ if isinstance(error.__cause__, OSError) else error
