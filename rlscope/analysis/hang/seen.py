"""This file holds what the system says of processes that are alive: the part of a hang that no trace knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Life(Enum):
    """A process goes on, or it does not."""

    RUNNING = "running"
    STOPPED = "stopped"  # by a signal, or by a debugger
    ENDED = "ended"


@dataclass(frozen=True)
class SeenProcess:
    """A process as the system shows it to every user, or to its own.

    Attributes:
        life: Whether it goes on.
        is_zombie: It has ended, and its parent has not asked how.
        exit_status: What a zombie ended with, negative for a signal; None of others.
        busy: By the number of each of its threads whether it runs or is in line for a core; empty where that is not
            shown.
        pipes: By their channels the pipes that it has open, for reading (`r`), writing (`w`) or both; empty where that
            is not shown.
    """

    life: Life
    is_zombie: bool = False
    exit_status: int | None = None
    busy: Mapping[int, bool] = field(default_factory=dict)
    pipes: Mapping[str, str] = field(default_factory=dict)
