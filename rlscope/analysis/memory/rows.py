"""This file defines the rows of tables of memory: the most by operation, and how it grew."""

from __future__ import annotations

from dataclasses import dataclass

from rlscope.analysis.rows import Row


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MemoryRow(Row):
    """The most memory that a process was seen to use in an operation.

    It is looked at ten times a second, and at the end of an operation in which it was not.

    Attributes:
        process: The process.
        owner: What has it: `host` (the process, resident), or the library whose allocator gave it out of a device's.
        device: CUDA's number of the device in the process; None of the host.
        stage: The stage of the operation.
        operation: The operation that was innermost.
        samples: How often it was looked at there.
        highest_bytes: The most that was in use then, or since the look before if the peak rose in the operation.
    """

    process: str
    owner: str
    device: int | None
    stage: str
    operation: str
    samples: int
    highest_bytes: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MemoryGrowthRow(Row):
    """This says how the memory of a process went over time.

    Of its samples since the training loop began, the first third is left out, as warming up. The others are ten parts,
    or seven to nine in a loop of 2 to 3 s, and each one's lowest use is what it kept. The growth and its interval of
    95 % are from the steps between them.

    Attributes:
        process: The process.
        owner: As in `memory`.
        device: As in `memory`.
        samples: How many there are.
        first_bytes: What was in use at the first one.
        last_bytes: And at the last one.
        peak_bytes: The most that ever were, also between samples, as the system or the allocator knows.
        bytes_per_s: The growth; None with fewer than 21 samples in the loop.
        low_bytes_per_s: The lower end of its interval.
        high_bytes_per_s: The upper one.
        bytes_per_iteration: The growth in an iteration; None if the parts have none.
        grows: Whether eight of nine steps went up, or all of fewer, a MiB and a hundredth of it altogether, and the
            interval is above 0.
    """

    process: str
    owner: str
    device: int | None
    samples: int
    first_bytes: int
    last_bytes: int
    peak_bytes: int
    bytes_per_s: float | None
    low_bytes_per_s: float | None
    high_bytes_per_s: float | None
    bytes_per_iteration: float | None
    grows: bool
