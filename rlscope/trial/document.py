"""This file makes a document of what `rlscope try` found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from rlscope.trial.numbers import Numbers
from rlscope.trial.pairs import Verdict

SCHEMA = 1


class Clock(Enum):
    """The clock that tells how long the measured part took: the wall where it is waiting that changes."""

    PROCESSOR = "processor time"
    WALL = "wall time"


@dataclass(frozen=True)
class Factor:
    """A factor: so many times as fast is the measured part with a change.

    Attributes:
        value: Without it divided by with it, the geometric mean over pairs of runs.
        low: Lower end of its 95 % interval; None of a single pair.
        high: Upper end, likewise.
    """

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Tried:
    """A change that was tried, alone or on top of others.

    Attributes:
        changes: Names of the changes that are made; of several, those that paid, together.
        on_top_of: Those that are made without it as well.
        verdict: What it does.
        clock: Which of both factors tells so.
        pairs: How many pairs of runs were measured.
        processor: The factor of processor time; None if nothing was measured.
        wall: The factor of wall time, likewise.
        alters: What is no longer as it was.
        numbers: Whether the training computes the same; None if nothing was measured.
        keep: Lines that make it last.
        why: Why nothing was measured: the last line of a program that failed.
    """

    changes: tuple[str, ...]
    on_top_of: tuple[str, ...]
    verdict: Verdict
    clock: Clock
    pairs: int
    processor: Factor | None
    wall: Factor | None
    alters: str
    numbers: Numbers | None
    keep: tuple[str, ...]
    why: str = ""

    @property
    def factor(self) -> Factor | None:
        """Return the factor that counts."""
        return self.wall if self.clock is Clock.WALL else self.processor


@dataclass(frozen=True)
class Measured:
    """The part of the program that was measured.

    Attributes:
        unit: What is counted: updates of optimizers, or steps of environments.
        begin: After so many of them it begins.
        end: After so many it ends, and the program with it.
        processes: How many processes there were.
        processor_s: Its processor time in a run without a change, of all processes; None if there was none but the
            first one, which finds out what is to be measured.
        wall_s: How long it took then, likewise.
    """

    unit: str
    begin: int
    end: int
    processes: int
    processor_s: float | None
    wall_s: float | None


@dataclass(frozen=True)
class TryDocument:
    """The document that `rlscope try --json` prints.

    Attributes:
        schema: The number of the schema of this document.
        command: The command.
        isolation: What kept it from harm.
        measured: What was measured.
        proposed: Names of the changes that were to be tried.
        tried: What was tried, in its order.
        kept: Those that paid.
        is_complete: Whether all was tried, and decided.
        overwritten: Files that a run would have overwritten.
    """

    schema: int
    command: tuple[str, ...]
    isolation: str
    measured: Measured
    proposed: tuple[str, ...]
    tried: tuple[Tried, ...]
    kept: tuple[str, ...]
    is_complete: bool
    overwritten: tuple[str, ...]


def plain(document: TryDocument) -> dict[str, Any]:
    """Return the document as JSON has it."""
    found: dict[str, Any] = _plain(asdict(document))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
