"""This file names what the sweep finds of a process's memory (src/analysis_module/swept.cpp)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple


class SweptMemory(NamedTuple):
    """The most memory that was seen in an operation.

    Attributes:
        owner: A `rlscope.trace.format.MemoryOwner`.
        device: CUDA's number of it in the process, 0 of the host.
        stage: The stage of the operation.
        operation: The operation.
        samples: How often the memory was looked at there.
        highest_bytes: The most that was in use.
    """

    owner: int
    device: int
    stage: str
    operation: str
    samples: int
    highest_bytes: int


class SweptMemorySeries(NamedTuple):
    """Memory over time, at most 4096 samples, one entry of 8 bytes in each column per sample.

    Attributes:
        owner: A `rlscope.trace.format.MemoryOwner`.
        device: CUDA's number of it in the process, 0 of the host.
        peak_bytes: The most that were ever in use, as any sample says.
        ticks: When it was looked at.
        used_bytes: What was in use.
        reports: How often progress had been reported before.
    """

    owner: int
    device: int
    peak_bytes: int
    ticks: bytes
    used_bytes: bytes
    reports: bytes

    def points(self) -> Iterator[tuple[int, int, int]]:
        """Yield ticks, bytes in use, and reports of progress of each sample."""
        return zip(*(array("Q", column) for column in (self.ticks, self.used_bytes, self.reports)), strict=True)
