"""This file declares what the sweep finds of a process's calls of communicators."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from rlscope.analysis.swept_types import Column32, Column64, Label, Number


class SweptCollective(NamedTuple):
    """A call of a communicator; times are ticks of the process's clock.

    Attributes:
        function: The name of the call.
        communicator: Of which communicator it was.
        sequence: Its number among the communicator's calls in this process.
        moved_bytes: The bytes of the rank's own part.
        called_ticks: When it was called.
        waited_ticks: Since when its thread waited for it.
        ended_ticks: When the wait was over; None where nobody waited.
    """

    function: str
    communicator: str
    sequence: int
    moved_bytes: int
    called_ticks: int
    waited_ticks: int
    ended_ticks: int | None


class SweptCollectives(NamedTuple):
    """The calls of communicators, one entry of each column per call: of 4 bytes in `name_ids`, else of 8.

    Attributes:
        names: By id: the function, and behind a space the communicator.
        name_ids: The names of the calls.
        sequences: Their numbers among the communicator's calls.
        sizes: The bytes of the rank's own part.
        calls: When they were called, in ticks.
        waits: Since when their threads waited for them.
        ends: When these waits were over; 0 where nobody waited.
    """

    names: dict[Number, Label]
    name_ids: Column32
    sequences: Column64
    sizes: Column64
    calls: Column64
    waits: Column64
    ends: Column64

    def rows(self) -> Iterator[SweptCollective]:
        """Yield the calls in the order in which they were over."""
        columns = (array("Q", column) for column in self[2:])
        named = {number: name.partition(" ")[::2] for number, name in self.names.items()}
        for number, sequence, size, called, waited, ended in zip(array("I", self.name_ids), *columns, strict=True):
            yield SweptCollective(*named[number], sequence, size, called, waited, ended or None)  # no clock began at 0


NO_COLLECTIVES = SweptCollectives({}, b"", b"", b"", b"", b"", b"")
