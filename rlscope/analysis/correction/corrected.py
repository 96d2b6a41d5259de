"""This file corrects the times of a sweep by a calibration, and bounds the error. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.analysis.swept import PartBounds, RowKey, Swept
from rlscope.model import GPU_ONLY, NS_PER_S, Category, Resource
from rlscope.text import cuda_version

if TYPE_CHECKING:
    from rlscope._analysis import TickCost
    from rlscope.trace.clock import Clock

#: The parts of a tick in which the sweep counts overhead.
PARTS_PER_TICK = 256
#: What is left of a resource without the CPU.
DEVICES_ALONE = {
    Resource.BOTH.value: Resource.GPU.value,
    Resource.CPU_AND_COMMUNICATION.value: Resource.COMMUNICATION.value,
}

#: Standard deviations on each side of an interval of 95 %.
Z95 = 1.96
#: How much wider intervals become where a library has another version than it was calibrated with.
OTHER_VERSION = 2.0


@dataclass(frozen=True)
class Correction:
    """The costs with which times are corrected.

    Attributes:
        costs: by "operation", "boundary" or "cuda", or more exactly "operation/NAME", "boundary/LIBRARY", "cuda/CALL";
            of programs that use a library, by "operation@LIBRARY" and the like.
        source: where they are from, for a reader.
        versions: of the libraries that they were measured with, and of the driver, as `versions_of` has it.
        messages: by the number of processes what a step of an environment costs more in these than in the process that
            asks for it: processor time of all of them. It is no cost of recording; forecasts reckon with it.
    """

    costs: Mapping[str, Cost]
    source: str
    versions: Mapping[str, str]
    messages: Mapping[int, Bounds] = field(default_factory=dict)

    def of_process(self, libraries: Collection[str], amplification: int) -> Correction:
        """Return the correction with the costs that hold in one process.

        Args:
            libraries: that it uses. What was measured in programs of one of them holds for all events of the kind.
            amplification: how many times the work of each of its records was done.
        """
        costs = {key: cost for key, cost in self.costs.items() if "@" not in key}
        for key, cost in self.costs.items():
            kind, _, library = key.partition("@")
            if library in libraries:
                costs = {name: each for name, each in costs.items() if name.partition("/")[0] != kind} | {kind: cost}
        return replace(self, costs={key: cost.amplified(amplification) for key, cost in costs.items()})

    def in_ticks(self, clock: Clock) -> dict[str, TickCost]:
        """Return the costs as the sweep of a file with this clock wants them."""
        per_ns = clock.denominator / clock.ns_per_denominator
        return {
            key: (_ticks(cost.inside_ns, per_ns), _ticks(cost.outside_ns, per_ns)) for key, cost in self.costs.items()
        }

    def cost_of(self, key: str) -> Cost:
        """Return the cost of the events with this exact key."""
        return self.costs[key] if key in self.costs else self.costs[key.partition("/")[0]]

    def other_versions(self, found: Mapping[str, object]) -> list[str]:
        """Return the libraries, and the driver, whose versions in a trace differ from the calibration's, as texts."""
        return [
            f"{name} {found[name]} (calibrated with {version})"
            for name, version in sorted(self.versions.items())
            if found.get(name, version) != version
        ]


@dataclass(frozen=True)
class AppliedCorrection:
    """This says how a trace's times were corrected.

    Attributes:
        source: where the costs are from.
        process: that paces the run.
        added_percent: what recording added to it, of its corrected time; with its interval of 95 %.
        added_low_percent: its lower end.
        added_high_percent: its upper end.
        notes: what the correction does not cover, or why it is less sure, one sentence each.
        uncalibrated: how many events there are of each kind whose cost is not known.
    """

    source: str
    process: str
    added_percent: float
    added_low_percent: float
    added_high_percent: float
    notes: tuple[str, ...]
    uncalibrated: Mapping[str, int]


@dataclass(frozen=True)
class Corrected:
    """A corrected time in seconds, with its interval of 95 %."""

    seconds: float
    low_s: float
    high_s: float


class CorrectedProcess:
    """The corrected times of one process.

    Attributes:
        rows: by row of the breakdown; with rows of its own for what became time of a device alone.
        wall: what the rows sum to. Its interval is not the sum of theirs.
        uncorrectable_s: overhead that could not be removed: it passed beside another thread's work, or in a wait.
        uncalibrated: events whose cost is not known, by the most exact key.
        other_versions: libraries that were calibrated in another version.
    """

    def __init__(
        self,
        found: Swept,
        clock: Clock,
        correction: Correction,
        waits_shortened_by_s: float = 0.0,
    ) -> None:
        """Compute everything.

        Args:
            found: what the sweep found, with the costs of `correction`.
            clock: of the process.
            correction: the costs that hold in it.
            waits_shortened_by_s: overhead of the trace's other processes, for which this one may have waited.
        """
        assert found.correction is not None
        swept = found.correction
        self._s_per_part = clock.ns_per_denominator / clock.denominator / PARTS_PER_TICK / NS_PER_S
        self.uncorrectable_s = swept.uncorrectable.expected * self._s_per_part
        self.uncalibrated = swept.uncalibrated
        self.other_versions = correction.other_versions(versions_of(found.properties))
        self._width = OTHER_VERSION if self.other_versions else 1.0
        costs = ((correction.cost_of(key), events) for key, events in swept.charged.items())
        self._noise_s = _noise_s(costs)
        waited_ticks = sum(row.ticks for row in found.breakdown if row.category == Category.WAIT.label)
        wait_s = waited_ticks * PARTS_PER_TICK * self._s_per_part
        shortened = min(1.0, waits_shortened_by_s / wait_s) if wait_s else 0.0
        raw = {row.key: row.ticks * PARTS_PER_TICK for row in found.breakdown}
        parts = corrected_parts(found)
        self.rows = {
            key: self._interval(raw.get(key, 0), bounds, shortened if key.category == Category.WAIT.label else 0.0)
            for key, bounds in parts.items()
        }
        total = PartBounds(*map(sum, zip(*parts.values(), strict=True))) if parts else PartBounds(0, 0, 0)
        wall = self._interval(sum(raw.values()), total, 0.0)
        self.wall = Corrected(wall.seconds, max(0.0, wall.low_s - shortened * wait_s), wall.high_s)

    def _interval(self, raw: int, bounds: PartBounds, shortened: float) -> Corrected:
        """Return a time of so many parts, corrected by the least, the expected and the most overhead."""
        expected = bounds.expected * self._s_per_part
        noise = Z95 * self._noise_s * math.sqrt(abs(raw - bounds.expected) * self._s_per_part)
        below = (bounds.expected - min(bounds)) * self._s_per_part
        above = (max(bounds) - bounds.expected) * self._s_per_part
        low = expected - self._width * math.hypot(below, noise) - shortened * expected
        return Corrected(expected, max(0.0, low), expected + self._width * math.hypot(above, noise))


def versions_of(properties: Mapping[str, object]) -> dict[str, object]:
    """Return the versions of a recorded process's libraries and of its driver's CUDA, as far as its properties say."""
    versions, cuda = properties.get("versions"), properties.get("cuda")
    found = dict(versions) if isinstance(versions, dict) else {}
    driver = cuda.get("driver_version") if isinstance(cuda, dict) else None
    return found | {"driver": cuda_version(driver)} if isinstance(driver, int) and driver > 0 else found


def corrected_parts(found: Swept) -> dict[RowKey, PartBounds]:
    """Return the breakdown in parts of a tick, less what recording added: by the least, the expected and the most
    of it.

    What a device worked through stays, as time of the device alone, so there may be rows that the breakdown lacks.
    """
    correction = found.correction
    assert correction is not None
    parts = {row.key: PartBounds(*[row.ticks * PARTS_PER_TICK] * 3) for row in found.breakdown}
    for row in correction.removed:
        _add(parts, row.key, row.parts, -1)
    for row in correction.turned:
        _add(parts, row.key._replace(category=GPU_ONLY, resource=DEVICES_ALONE[row.resource]), row.parts, 1)
    return parts


def removed_s(found: Swept, clock: Clock) -> float:
    """Return what correction took off a process's time, as expected."""
    assert found.correction is not None
    removed = sum(row.parts.expected for row in found.correction.removed)
    turned = sum(row.parts.expected for row in found.correction.turned)
    return (removed - turned) / PARTS_PER_TICK * clock.ns_per_denominator / clock.denominator / NS_PER_S


def _add(parts: dict[RowKey, PartBounds], key: RowKey, change: PartBounds, sign: int) -> None:
    before = parts.get(key, PartBounds(0, 0, 0))
    parts[key] = PartBounds(*(part + sign * changed for part, changed in zip(before, change, strict=True)))


def _ticks(bounds: Bounds, per_ns: float) -> tuple[float, float, float]:
    return bounds.low * per_ns, bounds.mean * per_ns, bounds.high * per_ns


def _noise_s(costs: Iterable[tuple[Cost, int]]) -> float:
    """Return how much a sum of overhead of one second is off because every event costs something else: one standard
    deviation.

    Costs spread by about as much as they are: most are usual, one in a hundred is many times that. So the standard
    deviation of an event's cost is taken to be its mean m. Of n events the sum n m has the standard deviation
    m sqrt(n), so a sum x has sqrt(m) sqrt(x). Events of several kinds are taken to be mixed in each row as they are in
    the process.

    Args:
        costs: of each kind of events, with how many were charged.
    """
    sums = [(cost.total_ns.mean, events) for cost, events in costs]
    total_ns = sum(events * mean for mean, events in sums)
    variance = sum(events * mean**2 for mean, events in sums)
    return math.sqrt(variance / total_ns / NS_PER_S) if total_ns else 0.0


def times_of(corrected: Corrected | None) -> tuple[float, float, float] | tuple[None, None, None]:
    """Return the expected, the least and the most seconds, as rows have them; None where nothing was corrected."""
    return (None, None, None) if corrected is None else (corrected.seconds, corrected.low_s, corrected.high_s)
