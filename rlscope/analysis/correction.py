"""What correction by a calibration makes of the times that a sweep found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlscope._analysis import SweepDict

#: As the sweep counts overhead: the parts of a tick, and for the least, the expected and the most overhead.
PARTS_PER_TICK = 256
BOUNDS = 3

#: Phase, stage, operation, category, resource.
RowKey = tuple[str, str, str, str, str]
#: Time of which correction took the CPU's part is of no layer.
GPU_CATEGORY = "gpu"
GPU_RESOURCE = "gpu"


def corrected_parts(found: SweepDict) -> dict[RowKey, tuple[int, int, int]]:
    """The breakdown in parts of a tick, less what recording added: by the least, the expected and the most of it.

    What a device worked through stays, as time of the device alone, so there may be rows that the breakdown lacks.
    """
    correction = found["correction"]
    assert correction is not None
    parts = {row[:5]: [row[5] * PARTS_PER_TICK] * BOUNDS for row in found["breakdown"]}
    for row in correction["removed"]:
        _add(parts, row[:5], row[5], -1)
    for row in correction["turned"]:
        _add(parts, (*row[:3], GPU_CATEGORY, GPU_RESOURCE), row[5], 1)
    return {key: (least, expected, most) for key, (least, expected, most) in parts.items()}


def _add(parts: dict[RowKey, list[int]], key: RowKey, change: tuple[int, int, int], sign: int) -> None:
    sums = parts.setdefault(key, [0] * BOUNDS)
    for bound in range(BOUNDS):
        sums[bound] += sign * change[bound]
