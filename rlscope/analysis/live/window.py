"""This file says which part of a run is to be swept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rlscope.trace.reader import ProcessFile

#: What a device did is written each second, and the time of a thread that was blocked when it runs again.
BEHIND_NS = 1_500_000_000


@dataclass(frozen=True)
class Window:
    """A part of a run.

    Attributes:
        start_ns: Where it begins, in nanoseconds since 1970.
        end_ns: Where it ends for processes that still record, the same.
        swept_ticks: Up to where processes were swept before, by their file: they go on from there.
    """

    start_ns: int
    end_ns: int
    swept_ticks: Mapping[Path, int] = field(default_factory=dict)

    def since_ticks(self, file: ProcessFile) -> int:
        """Return where the window begins for a process."""
        return self.swept_ticks.get(file.path, _ticks(file, self.start_ns))

    def limit_ticks(self, file: ProcessFile) -> int:
        """Return where it ends for a process that did not end its recording itself."""
        end_ticks = _ticks(file, self.end_ns)
        return min(file.limit_ticks or end_ticks, end_ticks)


def _ticks(file: ProcessFile, time_ns: int) -> int:
    return max(file.clock.ticks_at(time_ns - file.clock.realtime_offset_ns), 1)  # 0 is not known
