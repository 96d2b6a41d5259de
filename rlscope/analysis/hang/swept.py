"""This file declares where the threads of a process were at their last records, as C++ finds it."""

from __future__ import annotations

from typing import NamedTuple

from rlscope.analysis.swept_types import Label, Number, ThreadId, Ticks


class OpenCall(NamedTuple):
    """A thread had begun this and not ended it.

    Attributes:
        kind: A category of a boundary, `operation` or `phase`.
        name: What was begun.
        start_ticks: When; 0 where it was begun before what was read.
    """

    kind: Label
    name: Label
    start_ticks: Ticks


class StackPlace(NamedTuple):
    """A frame of a Python stack."""

    function: Label
    file: Label
    line: Number


class ThreadPlace(NamedTuple):
    """A thread at its last record.

    Attributes:
        thread: Its number in the system.
        last_ticks: When the last record was written.
        calls: What was open behind it, the outermost first.
        stack: The last Python stack that was seen of it, the innermost frame first; empty if none was.
        stack_ticks: When that was.
    """

    thread: ThreadId
    last_ticks: Ticks
    calls: list[OpenCall]
    stack: list[StackPlace]
    stack_ticks: Ticks


class CalledWait(NamedTuple):
    """A function that the process has waited in, and behind a space its channel."""

    name: Label


class ProcessPlaces(NamedTuple):
    """The threads of a process by their numbers in it, and what it has waited in at channels so far."""

    threads: list[ThreadPlace]
    waits: list[CalledWait]
