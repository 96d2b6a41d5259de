"""Finds in the first run where a measured part may begin and end, from marks that it takes after updates.

A part is whole iterations, of which each is steps of environments and the updates behind them. Where there are
evaluations it goes from behind one to behind another, so that its share of them is that of the whole training.
"""

from __future__ import annotations

import time

#: How long a measured part is: by processor time of this process, or by the wall where it waits for others.
ENOUGH_PROCESSOR_NS, ENOUGH_WALL_NS = 1_000_000_000, 5_000_000_000
#: Iterations and evaluations that it holds.
ENOUGH_ITERATIONS, ENOUGH_EVALUATIONS = 3, 3
#: However few they are, this long is enough.
LONGEST_WALL_NS = 40_000_000_000
#: Less than this is no measured part where more would be had with the first iteration in it.
LEAST_NS = 500_000_000


class Mark:
    """A moment of the first run at which a measured part may begin or end.

    Attributes:
        number: How many updates there had been.
        processor_ns: Processor time of this process.
        wall_ns: The time.
        evaluations: How many evaluations there had been.
    """

    def __init__(self, number: int, evaluations: int) -> None:
        self.number = number
        self.processor_ns = time.process_time_ns()
        self.wall_ns = time.perf_counter_ns()
        self.evaluations = evaluations

    def is_long_behind(self, since: Mark, processor_ns: int, wall_ns: int) -> bool:
        """Return whether one of both clocks went on so far since another mark."""
        return self.processor_ns - since.processor_ns >= processor_ns or self.wall_ns - since.wall_ns >= wall_ns


class _Borders:
    """Marks between which a measured part may lie.

    Attributes:
        all: All of them.
        evaluated: Those before which there was an evaluation since the one before.
    """

    def __init__(self) -> None:
        self.all: list[Mark] = []
        self.evaluated: list[Mark] = []

    def add(self, mark: Mark) -> None:
        """Add a mark, once."""
        before = self.all[-1] if self.all else None
        if mark is not before:
            self.all.append(mark)
            if mark.evaluations > (before.evaluations if before else 0):
                self.evaluated.append(mark)


class PartSearch:
    """All marks of one run."""

    def __init__(self) -> None:
        self._first: Mark | None = None
        self._last: Mark | None = None
        self._has_steps = False
        self._has_updates = False
        self._iterations = _Borders()
        self._marks = _Borders()

    def begin(self, evaluations: int) -> None:
        """Take the mark before all others."""
        self._first = self._last = Mark(0, evaluations)

    def mark(self, number: int, evaluations: int, is_update: bool) -> None:
        """Take a mark after this update, or after this step where nothing is updated."""
        self._last = Mark(number, evaluations)
        self._has_updates |= is_update
        self._marks.add(self._last)

    def note_step(self) -> None:
        """Note that an iteration ended with the last update, as environments are stepped again."""
        self._has_steps = True
        if self._has_updates and self._last is not None and self._last is not self._first:
            self._iterations.add(self._last)

    def is_enough(self) -> bool:
        """Return whether all of a measured part has been seen."""
        marks = self._between()
        if self._last is None or not marks:
            return False
        evaluations = self._last.evaluations - marks[0].evaluations
        has_all = len(marks) > ENOUGH_ITERATIONS and (not self._last.evaluations or evaluations >= ENOUGH_EVALUATIONS)
        is_long = self._last.is_long_behind(marks[0], ENOUGH_PROCESSOR_NS, ENOUGH_WALL_NS)
        return (is_long and has_all) or self._last.wall_ns - marks[0].wall_ns >= LONGEST_WALL_NS

    def found(self, is_over: bool) -> tuple[int, int]:
        """Return at which numbers a measured part begins and ends; `is_over` if the program has ended by itself."""
        if self._last is None:
            return 0, 0
        marks = self._between()
        is_whole = is_over and not self._is_of_evaluations()
        end = self._last if is_whole or not marks else marks[-1]
        if marks and end.is_long_behind(marks[0], LEAST_NS, 2 * LEAST_NS):
            return marks[0].number, end.number
        return 0, self._last.number if is_over else end.number

    def _borders(self) -> _Borders:
        """Return the ends of iterations; marks after each update where no environment is seen between them."""
        return self._iterations if self._has_updates and self._has_steps else self._marks

    def _is_of_evaluations(self) -> bool:
        """Return whether two evaluations came since anything was warm."""
        return sum(mark.number > 1 for mark in self._borders().evaluated[-2:]) == 2

    def _between(self) -> list[Mark]:
        """Return marks from the one on where a measured part would begin: behind an iteration, or the second update."""
        borders = self._borders()
        marks = borders.evaluated if self._is_of_evaluations() else borders.all
        first = next((index for index, mark in enumerate(marks) if mark.number > 1), len(marks))
        return marks[first:]
