"""Counts iterations of loops that report none: steps of environments are timesteps, an update after them ends one.

So 128 steps of 8 environments, and 16 steps of an optimizer, are an iteration of 1,024 timesteps. The first one is told
of when the second begins: a program that reports its own has done so until then, and then nothing is counted.
"""

from collections.abc import Callable

from rlscope import _native


class CountedIterations:
    """Tells of iterations until somebody else does; `report` is told of the timesteps so far."""

    def __init__(self, report: Callable[[int], None]) -> None:
        self._report = report
        self._made = 0
        self._is_over = False

    def after_update(self) -> None:
        """Note a step of an optimizer."""
        made = _native.environment_steps()
        if made == self._made or self._is_over:
            return
        is_first = self._made == 0
        self._made = made
        if is_first:
            _native.at_next_step(self._tell)
        else:
            self._tell()

    def end(self) -> None:
        """Count nothing any more. It may be called again."""
        if not self._is_over:
            self._is_over = True
            _native.at_next_step(None)

    def _tell(self) -> None:
        self._report(self._made)
