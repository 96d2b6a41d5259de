"""This file declares what the sweep finds of a process's memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from rlscope.analysis.swept_types import ByteCount, Column64, Count, Label, Number, OwnerNumber


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

    owner: OwnerNumber
    device: Number
    stage: Label
    operation: Label
    samples: Count
    highest_bytes: ByteCount


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

    owner: OwnerNumber
    device: Number
    peak_bytes: ByteCount
    ticks: Column64
    used_bytes: Column64
    reports: Column64

    def points(self) -> Iterator[tuple[int, int, int]]:
        """Yield ticks, bytes in use, and reports of progress of each sample."""
        return zip(*(array("Q", column) for column in (self.ticks, self.used_bytes, self.reports)), strict=True)
