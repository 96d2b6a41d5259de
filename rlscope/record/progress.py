"""A program says how far training is, by one call per iteration of the training loop."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than that of rlscope
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import SupportsFloat, SupportsIndex, TypeAlias

    Count: TypeAlias = SupportsIndex | SupportsFloat

#: Told of timesteps, total timesteps (0 if unknown), whether this is where training begins, and whether a library that
#: is known says so. None: nothing records.
listener: Callable[[int, int, bool, bool], None] | None = None

#: The most that a record of the trace can hold.
MOST_TIMESTEPS = (1 << 56) - 2
_has_complained = False


def report_progress(*, timesteps: Count, total_timesteps: Count | None = None) -> None:
    """Says that an iteration of the training loop is complete.

    What is no whole number from 0 on is ignored, with one line on stderr while something records: it never ends the
    training.

    Args:
        timesteps: Environment steps taken so far, such as `5`, `numpy.int64(5)` or `5.0`.
        total_timesteps: Environment steps of the whole training, if known: lets the report extrapolate.
    """
    if listener is not None:
        _tell(timesteps, total_timesteps, False, False)


def report_iteration(*, timesteps: Count, total_timesteps: Count | None = None, is_baseline: bool = False) -> None:
    """Says so for a library that is known; with `is_baseline` that training begins, and nothing is complete yet."""
    if listener is not None:
        _tell(timesteps, total_timesteps, is_baseline, True)


def _tell(timesteps: Count, total_timesteps: Count | None, is_baseline: bool, is_of_library: bool) -> None:
    global _has_complained
    try:
        counts = _whole(timesteps), 0 if total_timesteps is None else _whole(total_timesteps)
    except Exception as error:  # any object may come here, and its methods may raise anything
        if not _has_complained:
            _has_complained = True
            _complain(f"rlscope: report_progress() was ignored: {error}. The program goes on.\n")
        return
    if listener is not None:
        listener(*counts, is_baseline, is_of_library)


def _complain(line: str) -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.write(line)
    except (OSError, ValueError):  # nobody can be told
        pass


def _whole(value: Count) -> int:
    import operator

    try:
        count = operator.index(value)  # type: ignore[arg-type]  # that it may have none is what is found out
    except TypeError:
        number = value.__float__() if hasattr(value, "__float__") else None
        if number is None or not number.is_integer():
            raise ValueError(f"a whole number of timesteps was expected, {_shown(value)} was found") from None
        count = int(number)
    if not 0 <= count <= MOST_TIMESTEPS:
        raise ValueError(f"0 to {MOST_TIMESTEPS} timesteps were expected, {_shown(value)} was found")
    return count


def _shown(value: object) -> str:
    """Return a value on one line, and no longer than a number that can be meant."""
    return " ".join(repr(value).split())[:60]
