"""A program says how far training is, by one call per iteration of the training loop and one per sample."""

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

#: Told of a sample's name, version and tokens, and whether it is discarded. None: nothing records.
sample_listener: Callable[[str, int, int, bool], None] | None = None

#: The most that a record of the trace can hold.
MOST_COUNTED = (1 << 56) - 2
_complaints: set[str] = set()


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


def report_sample(name: str, *, version: Count, tokens: Count, discarded: bool = False) -> None:
    """Says that a sample of a rollout is complete: the one that this asyncio task makes, or without one this thread.

    Call it in the sample's own task. Wrong arguments are ignored as those of `report_progress` are.

    Args:
        name: What the table of samples calls it, such as "math" or "code".
        version: Of the policy that made it: counts its updates.
        tokens: That were generated for it.
        discarded: Whether it is thrown away, as too old perhaps, instead of trained on.
    """
    if sample_listener is not None:
        _tell_of_sample(name, version, tokens, discarded)


def report_iteration(*, timesteps: Count, total_timesteps: Count | None = None, is_baseline: bool = False) -> None:
    """Says so for a library that is known; with `is_baseline` that training begins, and nothing is complete yet."""
    if listener is not None:
        _tell(timesteps, total_timesteps, is_baseline, True)


def _tell(timesteps: Count, total_timesteps: Count | None, is_baseline: bool, is_of_library: bool) -> None:
    try:
        counts = _whole(timesteps, "timesteps"), 0 if total_timesteps is None else _whole(total_timesteps, "timesteps")
    except Exception as error:  # any object may come here, and its methods may raise anything
        _ignored("report_progress", error)
        return
    if listener is not None:
        listener(*counts, is_baseline, is_of_library)


def _tell_of_sample(name: str, version: Count, tokens: Count, discarded: bool) -> None:
    try:
        if not isinstance(name, str) or not name:
            raise ValueError(f"a name, a non-empty str, was expected, {_shown(name)} was found")
        found = str(name), _whole(version, "versions"), _whole(tokens, "tokens"), bool(discarded)
    except Exception as error:
        _ignored("report_sample", error)
        return
    if sample_listener is not None:
        sample_listener(*found)


def _ignored(function: str, error: Exception) -> None:
    if function not in _complaints:
        _complaints.add(function)
        _complain(f"rlscope: {function}() was ignored: {error}. The program goes on.\n")


def _complain(line: str) -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.write(line)
    except (OSError, ValueError):  # nobody can be told
        pass


def _whole(value: Count, what: str) -> int:
    import operator

    try:
        count = operator.index(value)  # type: ignore[arg-type]  # that it may have none is what is found out
    except TypeError:
        number = value.__float__() if hasattr(value, "__float__") else None
        if number is None or not number.is_integer():
            raise ValueError(f"a whole number of {what} was expected, {_shown(value)} was found") from None
        count = int(number)
    if not 0 <= count <= MOST_COUNTED:
        raise ValueError(f"0 to {MOST_COUNTED} {what} were expected, {_shown(value)} was found")
    return count


def _shown(value: object) -> str:
    """Return a value on one line, and no longer than a number that can be meant."""
    return " ".join(repr(value).split())[:60]
