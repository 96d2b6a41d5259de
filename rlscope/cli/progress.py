"""This file shows a progress bar on stderr, only once work has taken longer than two seconds."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_S = 2.0


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Give a function to call after each of `total` pieces of work, from any thread.

    Nothing is shown where stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console  # a tenth of a second that a script need not wait for
    from rich.progress import Progress

    progress = Progress(console=Console(file=sys.stderr), transient=True)
    task = progress.add_task(label, total=total)
    timer = threading.Timer(PATIENCE_S, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda: progress.advance(task)
    finally:
        timer.cancel()
        timer.join()
        progress.stop()
