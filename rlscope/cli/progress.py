"""A progress bar on stderr that appears only once work has taken longer than two seconds."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_S = 2.0


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Give a function to call after each of `total` pieces of work, from any thread. The bar says how long is left.

    Nothing is shown where stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    bar = _Bar(label, total)
    timer = threading.Timer(PATIENCE_S, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.advance
    finally:
        timer.cancel()
        timer.join()
        bar.hide()


class _Bar:
    """Counts from the beginning, and is drawn once it is to be shown."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._lock = threading.Lock()
        self._shown: Progress | None = None

    def show(self) -> None:
        from rich.console import Console  # a tenth of a second that short work need not wait for
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        progress = Progress(*columns, TextColumn("left"), console=Console(file=sys.stderr), transient=True)
        with self._lock:
            progress.add_task(self._label, total=self._total, completed=self._done)
            self._shown = progress
        progress.start()

    def advance(self) -> None:
        with self._lock:
            self._done += 1
            if self._shown is not None:
                self._shown.advance(self._shown.task_ids[0])

    def hide(self) -> None:
        if self._shown is not None:
            self._shown.stop()
