"""The owner path of a run: what the process that paces it did, and what those did that it waited for."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from rlscope.analysis.causes import Cause, Kind, Mix, ProcessTime, times_of_processes, waiting_s
from rlscope.analysis.counted_waits import CountedWaits
from rlscope.model import Category

if TYPE_CHECKING:
    from rlscope.analysis.breakdown import Analysis

INFRASTRUCTURE = "infrastructure"
#: What tells processes apart that do the same, read backwards: a number, a process id, or both. Backwards there is one
#: way to read it; forwards every way to split the digits is tried, which takes time exponential in their number.
_NUMBERS_BACKWARDS = re.compile(r"(?:(?:\d+#?|\)\d+\()[ _-]*)*")


@dataclass(frozen=True)
class Followed:
    """Processes that do the same, and that another one waited for.

    Attributes:
        names: of the processes.
        wait_s: how long it waited for them.
        work_s: what each of them did in operations and phases without waiting for others, in the order of `names`.
        mix: what that was, on average: sums to the mean of `work_s`.
        assumed_s: of `wait_s`, what has no recorded other end.
    """

    names: tuple[str, ...]
    wait_s: float
    work_s: tuple[float, ...]
    mix: Mix
    assumed_s: float

    @property
    def mean_s(self) -> float:
        """Of their work."""
        return fmean(self.work_s)

    @property
    def worked_s(self) -> float:
        """Of the waiting, what their mean work accounts for."""
        return min(self.wait_s, self.mean_s)

    @property
    def spread_s(self) -> float:
        """Of the waiting, the rest: one worked longer than the others, one after the other, or nobody did."""
        return self.wait_s - self.worked_s


@dataclass(frozen=True)
class OwnerPath:
    """The seconds of the process that paces a run, waits replaced by what was done meanwhile.

    Attributes:
        process: that paces it: of all, the one with most seconds in operations and phases.
        own: its seconds, without those in which it waited for `followed`.
        followed: whom it waited for.
        unfollowed: seconds of its waits that were not followed, by function, the longest first.
        wait_stages: of its waits, the share of each stage.
        left_out_s: its seconds in no operation and no phase.
        has_operations: or phases; without, all its seconds count.
    """

    process: str
    own: Mix
    followed: tuple[Followed, ...]
    unfollowed: Mapping[str, float]
    wait_stages: Mapping[str, float]
    left_out_s: float
    has_operations: bool

    @cached_property
    def mix(self) -> Mix:
        """All seconds of the path."""
        return _joined(self.own, self.followed, self.wait_stages)

    @cached_property
    def total_s(self) -> float:
        """The length of the path."""
        return sum(self.mix.values())


def owner_path(analysis: "Analysis") -> OwnerPath | None:
    """Of a run; None if no process took time."""
    roles = zip(analysis.processes["process"], analysis.processes["role"], strict=True)
    served = {process for process, role in roles if role != INFRASTRUCTURE}
    times = {process: time for process, time in times_of_processes(analysis.breakdown).items() if process in served}
    if any(time.has_operations for time in times.values()):
        times = {process: time for process, time in times.items() if time.has_operations}
    root = max(times, key=lambda process: sum(times[process].mix.values()), default=None)
    if root is None or sum(times[root].mix.values()) <= 0:
        return None
    return _Follower(analysis, times).path_from(root)


class _Follower:
    """Follows waits from process to process, each only away from where it began, so that circles end."""

    def __init__(self, analysis: "Analysis", times: Mapping[str, ProcessTime]) -> None:
        self._times = times
        self._waits = CountedWaits(analysis, times)

    def path_from(self, root: str) -> OwnerPath:
        distances = self._distances(root)
        mixes: dict[str, Mix] = {}
        for process in sorted(distances, key=lambda name: -distances[name]):
            if process != root:
                mixes[process] = self._mix_of(process, distances, mixes)
        waited_for = dict(self._waits.links[root])
        # A wait without another end, as for one of several pipes, is most likely for those that sent something.
        candidates = set(waited_for) or set(self._times) - {root}
        for process in candidates - set(mixes):
            mixes[process] = self._mix_of(process, {process: 0}, mixes)
        groups = _groups(candidates, waited_for, mixes, self._waits.open_s.get(root, 0.0))
        return OwnerPath(
            process=root,
            own=_without_waits(self._times[root].mix, sum(group.wait_s for group in groups)),
            followed=groups,
            unfollowed=self._waits.not_followed(root, any(group.assumed_s > 0 for group in groups)),
            wait_stages=_wait_stages(self._times[root].mix),
            left_out_s=self._times[root].left_out_s,
            has_operations=self._times[root].has_operations,
        )

    def _distances(self, root: str) -> dict[str, int]:
        """How many waits lie between the root and each process that it directly or indirectly waited for."""
        found = {root: 0}
        reached = [root]
        for process in reached:
            for other in self._waits.links[process]:
                if other not in found:
                    found[other] = found[process] + 1
                    reached.append(other)
        return found

    def _mix_of(self, process: str, distances: Mapping[str, int], mixes: Mapping[str, Mix]) -> Mix:
        """What a process did while it did not wait for those through which it was reached."""
        links, own = self._waits.links[process], self._times[process].mix
        farther = {other: s for other, s in links.items() if distances.get(other, 0) > distances[process]}
        groups = _groups(set(farther), farther, mixes, 0.0)
        waited_s = sum(links.values()) + self._waits.open_s.get(process, 0.0)
        return _joined(_without_waits(own, waited_s), groups, _wait_stages(own))


def _groups(
    candidates: Iterable[str], waited_for: Mapping[str, float], mixes: Mapping[str, Mix], open_s: float
) -> tuple[Followed, ...]:
    """Processes by what they are called; waits without another end are shared by how much work each group had."""
    members: dict[str, list[str]] = {}
    for process in sorted(candidates):
        members.setdefault(_without_numbers(process), []).append(process)
    work_s = {process: sum(mixes[process].values()) for process in candidates}
    means = {name: fmean(work_s[process] for process in group) for name, group in members.items()}
    whole_s = sum(means.values())
    found = []
    for name, group in members.items():
        assumed_s = open_s * means[name] / whole_s if whole_s > 0 else 0.0
        wait_s = sum(waited_for.get(process, 0.0) for process in group) + assumed_s
        if wait_s > 0:
            works = tuple(work_s[process] for process in group)
            mix = _scaled(_summed(mixes[process] for process in group), 1 / len(group))
            found.append(Followed(tuple(group), wait_s, works, mix, assumed_s))
    return tuple(sorted(found, key=lambda group: -group.wait_s))


def _without_numbers(name: str) -> str:
    numbers = _NUMBERS_BACKWARDS.match(name[::-1])
    return name[: len(name) - len(numbers[0])] if numbers else name


def _joined(own: Mix, followed: Iterable[Followed], wait_stages: Mapping[str, float]) -> Mix:
    """With what was done during waits in their place, and what is left of them."""
    parts = [own]
    for group in followed:
        if group.mean_s > 0:
            parts.append(_scaled(group.mix, group.worked_s / group.mean_s))
        parts.append(
            {
                Kind(stage, Category.WAIT.label, Cause.WAITING): share * group.spread_s
                for stage, share in wait_stages.items()
            }
        )
    return _summed(parts)


def _wait_stages(mix: Mix) -> dict[str, float]:
    waits: dict[str, float] = {}
    for kind, seconds in mix.items():
        if kind.cause is Cause.WAITING:
            waits[kind.stage] = waits.get(kind.stage, 0.0) + seconds
    whole_s = sum(waits.values())
    return {stage: seconds / whole_s for stage, seconds in waits.items()} if whole_s > 0 else {}


def _without_waits(mix: Mix, seconds: float) -> Mix:
    """Less so many seconds of waiting, taken from all stages alike."""
    waits_s = waiting_s(mix)
    left = max(0.0, 1 - seconds / waits_s) if waits_s > 0 else 0.0
    return {kind: each * left if kind.cause is Cause.WAITING else each for kind, each in mix.items()}


def _scaled(mix: Mix, factor: float) -> Mix:
    return {kind: seconds * factor for kind, seconds in mix.items()}


def _summed(mixes: Iterable[Mix]) -> Mix:
    found: dict[Kind, float] = {}
    for mix in mixes:
        for kind, seconds in mix.items():
            found[kind] = found.get(kind, 0.0) + seconds
    return found
