"""This file makes the tables that say who had a device, and why it did nothing in the training loop."""

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.rows import Record, sums

ALL_PROCESSES = "(all)"


def shares_shown(analysis: Analysis) -> list[Record]:
    """Return the rows of devices that several processes used."""
    return [row.record() | {"process": row.process or ALL_PROCESSES} for row in analysis.device_shares]


def idle_shown(analysis: Analysis) -> list[Record]:
    """Return one row per device and cause, the longest first, with the operation that most of it was in."""
    seconds = sums(((row.device, row.cause), row.seconds) for row in analysis.device_idle)
    of_operations = sums(((row.device, row.cause, row.operation), row.seconds) for row in analysis.device_idle)
    whole_s = sums((row.device, row.seconds) for row in analysis.device_idle)
    mostly: dict[tuple[int, str], str] = {}
    for device, cause, operation in sorted(of_operations, key=lambda key: (-of_operations[key], key)):
        mostly.setdefault((device, cause), operation)
    return [
        {
            "device": device,
            "cause": cause,
            "seconds": found,
            "percent": 100 * found / whole_s[device] if whole_s[device] else None,
            "mostly in": mostly[device, cause],
        }
        for (device, cause), found in sorted(seconds.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    ]
