"""This file sums time by what dashboards show: stages, layers, phases and devices, by the names that they get there."""

import re
from collections import Counter

from rlscope.analysis.swept import Swept
from rlscope.model import NO_PHASE


class Shares:
    """These are the parts that each stage, layer, phase and device had of some time.

    Attributes:
        total: The time, in any unit.
        parts: By name, such as `stage/simulation` or `device/0_busy`, how much of that it had, in the same unit.
    """

    def __init__(self) -> None:
        """Start with no time."""
        self.total = 0
        self.parts: Counter[str] = Counter()

    def add(self, kind: str, name: str, amount: int) -> None:
        """Add time of a stage, layer, phase or device; "(none)" is called `none`."""
        self.parts[f"{kind}/{re.sub('[^-.0-9A-Za-z_]', '_', name.strip('()'))}"] += amount

    def add_sweep(self, found: Swept) -> None:
        """Add all time of a process, or of a window of it, in ticks."""
        self.total += found.end_ticks - found.start_ticks
        for row in found.breakdown:
            self.add("stage", row.stage, row.ticks)
            self.add("layer", row.category, row.ticks)
            if row.phase != NO_PHASE:
                self.add("phase", row.phase, row.ticks)
        for device in found.devices:
            self.add("device", f"{device.device}_busy", device.busy_ticks)

    def clear(self) -> None:
        """Begin again, with the same names: what had time once is 0 from then on, and not missing."""
        self.total = 0
        self.parts = Counter(dict.fromkeys(self.parts, 0))

    def percent(self) -> dict[str, float]:
        """Return what is to be logged: `rlscope/stage/simulation_percent` and so on; nothing if there was no time."""
        if not self.total:
            return {}
        return {f"rlscope/{name}_percent": 100 * part / self.total for name, part in self.parts.items()}
