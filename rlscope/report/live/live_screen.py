"""This file shows a run in a terminal until its user quits, and lets keys choose what is shown."""

import curses
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from rlscope.analysis.live.live_trace import LiveView
from rlscope.errors import UsageError
from rlscope.report.live.live_lines import ORDERS, Shown, live_lines, process_order
from rlscope.report.screen import Screen

ENTER = (curses.KEY_ENTER, ord("\n"), ord("\r"))
ESCAPE = 27
#: So soon an Escape is one that was pressed, and not the beginning of an arrow's code.
ESCAPE_MS = 25


def show_live(look: Callable[[], LiveView], every_s: float) -> None:
    """Show what `look` returns, again after `every_s` seconds, until the user quits.

    Raises:
        UsageError: the terminal cannot be written to line by line.
    """
    try:
        curses.wrapper(lambda window: _Screen(window, look, every_s).run())
    except curses.error as error:
        raise UsageError(
            f"a terminal was expected that can be written to anywhere, but: {error}; set TERM, or take --once"
        ) from error
    except KeyboardInterrupt:
        pass


class _Screen:
    def __init__(self, window: curses.window, look: Callable[[], LiveView], every_s: float) -> None:
        self._window = window
        self._look = look
        self._every_s = every_s
        self._shown = Shown(chosen=0)
        self._started_s, self._started_cpu_s = time.monotonic(), time.process_time()
        with suppress(curses.error):  # not every terminal can hide it
            curses.curs_set(0)
        curses.set_escdelay(ESCAPE_MS)

    def run(self) -> None:
        view = self._look()
        due_s = time.monotonic() + self._every_s
        while True:
            self._draw(view)
            self._window.timeout(max(round(1000 * (due_s - time.monotonic())), 0))
            key = self._window.getch()
            if key == ord("q"):
                return
            if key != curses.ERR:
                self._shown = after_key(self._shown, key, view)
            if time.monotonic() < due_s:
                continue
            if not self._shown.is_paused:
                view = self._look()
                self._shown = replace(self._shown, own_cores=self._own_cores())
            due_s = time.monotonic() + self._every_s

    def _own_cores(self) -> float:
        """Return how many cores this program kept busy since it was asked last."""
        now_s, cpu_s = time.monotonic(), time.process_time()
        cores = (cpu_s - self._started_cpu_s) / max(now_s - self._started_s, 1e-9)
        self._started_s, self._started_cpu_s = now_s, cpu_s
        return cores

    def _draw(self, view: LiveView) -> None:
        height, width = self._window.getmaxyx()
        lines = live_lines(view, Screen(max(width - 1, 1)), height, self._shown)  # the last cell would scroll
        self._window.erase()
        for row, line in enumerate(lines[:height]):
            with suppress(curses.error):  # a terminal that was made smaller meanwhile
                self._window.addstr(row, 0, line)
        self._window.refresh()


def after_key(shown: Shown, key: int, view: LiveView) -> Shown:
    """Return how the view is shown after a key was pressed."""
    rows = process_order(view, shown.order)
    last = max(len(rows) - 1, 0)
    chosen = min(shown.chosen or 0, last)
    if key == ord("p"):
        return replace(shown, is_paused=not shown.is_paused)
    if shown.opened is not None:
        return replace(shown, opened=None) if key in (*ENTER, ESCAPE) else shown
    if key == ord("s"):
        return replace(shown, order=ORDERS[(ORDERS.index(shown.order) + 1) % len(ORDERS)], chosen=0)
    if key == curses.KEY_UP:
        return replace(shown, chosen=max(chosen - 1, 0))
    if key == curses.KEY_DOWN:
        return replace(shown, chosen=min(chosen + 1, last))
    if key in ENTER and rows:
        return replace(shown, opened=rows[chosen][1].process)
    return shown
