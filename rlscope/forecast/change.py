"""This file reads the changes that `rlscope forecast --change` takes."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from rlscope.errors import UsageError
from rlscope.text.numbers import digits

ENVIRONMENTS, PROCESSES, LAUNCHES, GRAPH, GONE = "environments", "processes", "launches", "graph", "gone"
FORMS = (
    "NAME=2x (twice as fast), NAME=gone, NAME=1/10 (each 10th time), environments=16 (or 8:16, from 8 to 16), "
    "processes=1 or launches=graph"
)
_TIMES = re.compile(r"(\d+(?:\.\d+)?)x")
_EACH = re.compile(r"1/(\d+)")
_NUMBERS = re.compile(r"(?:(\d+):)?(\d+)")
#: No change is larger: what it leaves over is nothing.
_MOST = 1e9


class Model(Enum):
    """A model of what a change does; the value is its name in documents."""

    FASTER = "faster"
    RARER = "rarer"
    BATCH = "batch"
    ONE_PROCESS = "one process"
    PROCESSES = "processes"
    GRAPH = "graph"


class Change(NamedTuple):
    """A change of a training.

    Attributes:
        text: As the user writes it: `simulation=2x`.
        model: What reckons it.
        name: Of what becomes faster or rarer: a function, an operation, a stage or a purpose; else empty.
        number: How many times as fast, each how manieth time, or how many environments or processes; infinite of what
            is gone.
        of: How many environments there are now; None where the recording is to say it.
    """

    text: str
    model: Model
    name: str = ""
    number: float = 1.0
    of: int | None = None

    @property
    def words(self) -> str:
        """Say it in a sentence: `each 10th time`."""
        if self.model is Model.FASTER:
            how = "gone" if self.number == float("inf") else f"{digits(self.number)} times as fast"
            return f"{self.name} {how}"
        if self.model is Model.RARER:
            return f"each {self.number:,.0f}th time"
        if self.model is Model.GRAPH:
            return "with CUDA graphs"
        one, several = ("environment", "environments") if self.model is Model.BATCH else ("process", "processes")
        return f"in {self.number:,.0f} {one if self.number == 1 else several}"


def change_of(text: str) -> Change:
    """Return the change that a text such as `evaluation=1/10` means.

    Raises:
        UsageError: It means none.
    """
    name, _, value = text.rpartition("=")
    if text == f"{LAUNCHES}={GRAPH}":
        return Change(text, Model.GRAPH)
    if name in (ENVIRONMENTS, PROCESSES):
        numbers = _NUMBERS.fullmatch(value)
        if numbers and 1 <= int(numbers[2]) < _MOST and (numbers[1] is None or 1 <= int(numbers[1]) < _MOST):
            of_processes = Model.ONE_PROCESS if int(numbers[2]) == 1 else Model.PROCESSES
            model = Model.BATCH if name == ENVIRONMENTS else of_processes
            return Change(text, model, "", int(numbers[2]), int(numbers[1]) if numbers[1] else None)
    elif name and value == GONE:
        return Change(text, Model.FASTER, name, float("inf"))
    elif name:
        for pattern, model in ((_TIMES, Model.FASTER), (_EACH, Model.RARER)):
            match = pattern.fullmatch(value)
            if match and 0 < float(match[1]) < _MOST:
                return Change(text, model, name, float(match[1]))
    raise UsageError(f"--change: one of {FORMS} was expected, found {text!r}")
