"""This file says what a rule finds: the change, where, and how much of the training it is about."""

from __future__ import annotations

from typing import NamedTuple

from rlscope.analysis.rows import Row


class Place(NamedTuple):
    """A line of the program's own code.

    Attributes:
        function: The qualified name of the function.
        file: Its file, from the directory on in which the run was begun if it lies there.
        line: The line; 0 if none is known.
    """

    function: str = ""
    file: str = ""
    line: int = 0


class Found(NamedTuple):
    """A rule found this in a run.

    Attributes:
        change: What to do, an order that names the program's own functions and lines.
        evidence: The rows of which table show it.
        seconds: How much of the training of the process that paces the run this is about; None of what is no time of
            it, such as memory that grows.
        place: Where most of it is.
        forecast: The change, as `rlscope forecast --change` takes it, where a model covers what the rule says.
    """

    change: str
    evidence: str
    seconds: float | None
    place: Place = Place()
    forecast: str = ""


class FindingRow(Row):
    """A change that a rule found for a run.

    Attributes:
        code: The code of the rule: `RLS202`.
        name: Its name: `deepcopy`.
        change: What to do, an order that names the program's own functions and lines.
        seconds: How much of the training of the process that paces the run this is about; None of what is no time of
            it, such as memory that grows.
        share: The same as a share of that training, from 0 to 1.
        forecast: The change of `rlscope forecast` that says what it brings; empty where no model does.
        forecast_factor: How many times as fast the training loop will be by that; None where there is no forecast.
        forecast_low: The lower end of its interval of 90 %.
        forecast_high: The upper end.
        forecast_clock: Of what the factor is: `processor time` or `wall time`.
        function: The function of the program's own code in which most of it is; empty if none is known.
        file: Its file.
        line: The line; 0 if it is not known.
        evidence: The rows of which table show it.
        trial: The change that `rlscope try --changes` tries it with; empty if it can only be made by an edit.
    """

    code: str
    name: str
    change: str
    seconds: float | None
    share: float | None
    forecast: str
    forecast_factor: float | None
    forecast_low: float | None
    forecast_high: float | None
    forecast_clock: str
    function: str
    file: str
    line: int
    evidence: str
    trial: str
