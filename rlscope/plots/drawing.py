"""Draws the figures of a report in two processes; the second loads what draws while the first analyzes."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from rlscope.errors import RLScopeError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Drawing:
    """A figure that is still to be drawn, and written in every format.

    Attributes:
        figure: Its name in `rlscope.plots.report_figures.FIGURES`.
        tables: The tables that it shows; the first one is written beside it.
        stem: The path of its files without a suffix.
        settings: What else the function takes.
    """

    figure: str
    tables: tuple["pd.DataFrame", ...]
    stem: Path
    settings: Mapping[str, object] = field(default_factory=dict)

    def write(self) -> None:
        """Draw the figure, and write it with its numbers."""
        from rlscope.plots.figure_files import write_figure
        from rlscope.plots.report_figures import FIGURES

        write_figure(FIGURES[self.figure](*self.tables, **self.settings), self.tables[0], self.stem)


#: Writes figures.
Draw = Callable[[Sequence[Drawing]], None]


def draw_here(drawings: Sequence[Drawing]) -> None:
    """Draw all figures in this process."""
    for drawing in drawings:
        drawing.write()


@contextmanager
def second_process() -> Iterator[Draw]:
    """Yield what draws in this process and in another one, which loads libraries meanwhile.

    The other one is forked, so this has to be entered before libraries start threads. It ends when this process does.
    Where there is one processor, there is one process.
    """
    if len(os.sched_getaffinity(0)) == 1:
        yield draw_here
        return
    fork = multiprocessing.get_context("fork")
    asked, others_end = fork.Pipe()
    process = fork.Process(target=_help, args=(others_end, asked), daemon=True)
    process.start()
    others_end.close()
    try:
        yield lambda drawings: _draw_in_two(drawings, asked)
    finally:
        process.kill()
        process.join()


def _draw_in_two(drawings: Sequence[Drawing], asked: Connection) -> None:
    """Draw figures here while the other process draws others; each takes the next one when it is free.

    Raises:
        RLScopeError: The other process has gone.
        Exception: What drawing or writing one of them raised.
    """
    waiting = deque(drawings)
    with ThreadPoolExecutor(1) as thread:
        handed_out = thread.submit(_hand_out, waiting, asked)
        try:
            while (drawing := _next(waiting)) is not None:
                drawing.write()
        finally:
            waiting.clear()
        handed_out.result()


def _hand_out(waiting: deque[Drawing], asked: Connection) -> None:
    """Give the other process the next figure as often as it asks for one."""
    try:
        drawing = None
        while (failure := asked.recv()) is None:
            drawing = _next(waiting)
            asked.send(drawing)
            if drawing is None:
                return
    except (EOFError, OSError):
        raise RLScopeError(
            f"expected {drawing.stem if drawing else 'figures'} from the second process that draws, found that it was "
            "ended. Give the report more memory, or one processor, on which one process draws all: taskset -c 0"
        ) from None
    raise failure


def _next(waiting: deque[Drawing]) -> Drawing | None:
    try:
        return waiting.popleft()
    except IndexError:
        return None


def _help(tasks: Connection, asked: Connection) -> None:
    """Load what draws, then draw what is given until nobody gives any."""
    asked.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked says so, and ends this process
    from rlscope.plots.report_figures import FIGURES  # noqa: F401

    failure = None
    try:
        while failure is None:
            tasks.send(None)
            drawing = tasks.recv()
            if drawing is None:
                return
            failure = _failure(drawing)
        tasks.send(failure)
    except (EOFError, OSError):  # nobody asks any more
        return


def _failure(drawing: Drawing) -> Exception | None:
    try:
        drawing.write()
    except Exception as error:
        return error
    return None
