"""A progress bar on stderr that appears only once work has taken longer than two seconds."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rlscope._analysis import bytes_read
from rlscope.trace.reader import Trace

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

PATIENCE_S = 2.0


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Give a function to call after each of `total` pieces of work. The bar says how much is done and how long is left.

    Nothing is shown where stderr is not a terminal.
    """
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1

    with _shown(label, total, lambda: done):
        yield advance


@contextmanager
def reading_bar(label: str, traces: Iterable[Trace]) -> Iterator[None]:
    """Show how much of these traces has been read; also within a process, whose file may take minutes."""
    total = sum(process.file_bytes for trace in traces for process in trace.processes)
    before = bytes_read()
    with _shown(label, total, lambda: min(bytes_read() - before, total)):
        yield


@contextmanager
def _shown(label: str, total: int, done: Callable[[], int]) -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    bar = _Bar(label, total, done)
    timer = threading.Timer(PATIENCE_S, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        bar.hide()


class _Bar:
    """Asks how much is done whenever it is drawn."""

    def __init__(self, label: str, total: int, done: Callable[[], int]) -> None:
        self._label = label
        self._total = total
        self._done = done
        self._shown: Progress | None = None

    def show(self) -> None:
        from rich.console import Console  # a tenth of a second that short work need not wait for
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        done = self._done

        class Asking(Progress):
            def get_renderables(self) -> "Iterable[RenderableType]":
                for task in self.task_ids:
                    self.update(task, completed=done())
                return super().get_renderables()

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._shown = Asking(*columns, TextColumn("left"), console=Console(file=sys.stderr), transient=True)
        self._shown.add_task(self._label, total=self._total, completed=done())
        self._shown.start()

    def hide(self) -> None:
        if self._shown is not None:
            self._shown.stop()
