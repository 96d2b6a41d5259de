"""The owner path of a run: what the process that paces it did, and what those did that it waited for."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from rlscope.analysis.account.counted_waits import CountedWaits, Wait
from rlscope.analysis.account.kinds import Bound, Kind, Mix, ProcessTime, times_of_processes, waiting_s
from rlscope.analysis.averages import mean
from rlscope.analysis.table_rows import BreakdownRow, DependencyRow, ProcessRow, WaitRow
from rlscope.analysis.tables.loop import Loops
from rlscope.model import Category

INFRASTRUCTURE = "infrastructure"
#: What tells processes apart that do the same, read backwards: a number, a process id, or both. Backwards there is one
#: way to read it; forwards every way to split the digits is tried, which takes time exponential in their number.
_NUMBERS_BACKWARDS = re.compile(r"(?:(?:\d+#?|\)\d+\()[ _-]*)*")


@dataclass(frozen=True, eq=False)
class Work:
    """The work of a process, and the processes for which it waited.

    A worker that computed for 4 s and waited 3 s for a server, which worked for 2 s, has 4 s of its own, one followed
    group (the server), and a mix of 4 s + 2 s + 1 s of waiting that nobody's work explains.

    Attributes:
        own: its seconds, without those in which it waited for `followed`.
        followed: whom it waited for.
        waits: all seconds that it waited, by stage; which of them were for whom is not recorded.
        mix: its seconds, with what was done during waits in their place, and what is left of them.
        unfollowed: its waits that were not followed, by function, the longest first.
    """

    own: Mix
    followed: tuple["Followed", ...]
    waits: Mapping[str, float]
    mix: Mix
    unfollowed: tuple[Wait, ...]

    @cached_property
    def total_s(self) -> float:
        """Return the length of the work in seconds: 7 in the example of the class."""
        return sum(self.mix.values())


@dataclass(frozen=True, eq=False)
class Followed:
    """Processes that do the same, and that another one waited for.

    Main waited 8 s for worker_0 and worker_1, which worked for 4 s and for 6 s: their mean work is 5 s, so 5 s of the
    waiting are explained by it and 3 s are the spread.

    Attributes:
        names: of the processes.
        wait_s: how long it waited for them.
        works: what each of them did in its training loop without waiting for others on the way back or, between
            operations, for being asked; in the order of `names`; all that it did, if nothing shows where the loop is.
        assumed_s: of `wait_s`, what has no recorded other end.
        rounds: how many sets of them lived one after the other: 10 where 20 did, two at a time.
        waits_s: of `wait_s` without what is assumed, what was for each of them, in the order of `names`.
        functions: in which it waited for them.
    """

    names: tuple[str, ...]
    wait_s: float
    works: tuple[Work, ...]
    assumed_s: float
    rounds: int
    waits_s: tuple[float, ...]
    functions: tuple[str, ...]

    @cached_property
    def mix(self) -> Mix:
        """Return what they did, on average. It sums to the mean of their work: 5 s in the example of the class."""
        return _scaled(_summed(work.mix for work in self.works), 1 / len(self.works))

    @cached_property
    def mean_s(self) -> float:
        """Return the mean length of their work in seconds."""
        return mean(work.total_s for work in self.works)

    @property
    def worked_s(self) -> float:
        """Return the seconds of waiting for which their mean work in each round accounts: the smaller of both."""
        return min(self.wait_s, self.rounds * self.mean_s)

    @property
    def spread_s(self) -> float:
        """Return the seconds of waiting that their mean work does not explain.

        There one process worked longer than the others, they worked one after the other, or nobody worked.
        """
        return self.wait_s - self.worked_s

    @cached_property
    def slowest(self) -> int | None:
        """Return the place of the one that the others were waited with for; None if no one has most of the waits.

        Whoever waits for all of them waits for the one with most work.
        """
        longest = max(range(len(self.works)), key=lambda place: self.works[place].total_s)
        is_slowest = self.rounds == 1 and len(self.works) > 1 and self.waits_s[longest] > sum(self.waits_s) / 2
        return longest if is_slowest else None

    @cached_property
    def idle(self) -> tuple[int, Wait] | None:
        """Return the place of the one that waits longest for no process, and its longest such wait; None if none does.

        It is none where other waits are longer, as for processes that it waits for itself.
        """
        waits = [(place, work.unfollowed[0]) for place, work in enumerate(self.works) if work.unfollowed]
        longest = max(waits, key=lambda each: each[1].seconds, default=None)
        is_most = longest is not None and longest[1].seconds > waiting_s(self.works[longest[0]].mix) / 2
        return longest if is_most else None

    @property
    def slowest_s(self) -> float:
        """Return which part of `spread_s` is because the slowest of them works for longer than they do on average."""
        if self.slowest is None:
            return 0.0
        return min(self.spread_s, self.works[self.slowest].total_s - self.mean_s)


@dataclass(frozen=True, eq=False)
class OwnerPath(Work):
    """The seconds of the process that paces a run, waits replaced by what was done meanwhile.

    Attributes:
        process: that paces it: the one with most seconds in its loop, but for waiting to be asked; if one with at
            least half as many reports progress, that one.
        time: its own, with what was left out.
        beside_s: seconds in which two or more threads of it, or of those that were followed, were busy at once.
    """

    process: str
    time: ProcessTime
    beside_s: float


def owner_path(
    processes: Iterable[ProcessRow],
    breakdown: Iterable[BreakdownRow],
    loops: Loops,
    waits: Iterable[WaitRow],
    dependencies: Iterable[DependencyRow],
) -> OwnerPath | None:
    """Return the owner path of a run, by tables of it and its loops; None if no process took time."""
    rows = {row.process: row for row in processes}
    times = {
        process: time
        for process, time in times_of_processes(breakdown, loops).items()
        if rows[process].role != INFRASTRUCTURE
    }
    with_loops = {process for process, time in times.items() if time.has_loop}
    # In the order of the table, so that of two that are equal it is always the same one.
    candidates = [process for process in times if process in with_loops or not with_loops]
    follower = _Follower(rows, times, CountedWaits(waits, dependencies, times))
    root = max(_reporting(rows, candidates, follower) or candidates, key=follower.busy_s, default=None)
    if root is None or sum(times[root].mix.values()) <= 0:
        return None
    return follower.path_from(_starter(root, rows, times), set(candidates))


def _starter(process: str, rows: Mapping[str, ProcessRow], times: Mapping[str, ProcessTime]) -> str:
    """Return who paces a run in the place of a process that lived for one of several rounds: it started them all.

    Main starts a pool of workers anew for each generation: no worker lives for long, though all work is theirs.
    """
    row = rows[process]
    same = [each for each in rows.values() if without_numbers(each.process) == without_numbers(process)]
    starter = row.parent
    while starter is not None and starter in rows and starter not in times:  # machinery, such as a server that forks
        starter = rows[starter].parent
    is_one_of_many = row.iterations == 0 and rounds(same) > 1
    return starter if is_one_of_many and starter is not None and starter in times else process


def _reporting(rows: Mapping[str, ProcessRow], candidates: Sequence[str], follower: "_Follower") -> list[str]:
    """Return the candidates that report progress and are busy for at least half as long as the busiest one.

    A learner that is busy for 10 s and reports progress is one. A logger that is busy for 1 s and reports it too, and a
    worker that is busy for 12 s, are not.
    """
    longest_s = max(map(follower.busy_s, candidates), default=0.0)
    return [each for each in candidates if rows[each].iterations > 0 and follower.busy_s(each) >= longest_s / 2]


class _Follower:
    """Follows waits from process to process, each only away from where it began, so that circles end."""

    def __init__(self, rows: Mapping[str, ProcessRow], times: Mapping[str, ProcessTime], waits: CountedWaits) -> None:
        self._rows = rows
        self._times = times
        self._waits = waits

    def busy_s(self, process: str) -> float:
        """Seconds of a process in its loop, but for those in which it waited between operations to be asked."""
        return sum(self._times[process].mix.values()) - self._waits.between_s.get(process, 0.0)

    def path_from(self, root: str, candidates: Set[str]) -> OwnerPath:
        """Return the owner path of the process `root`.

        Waits without a recorded other end, such as in `ray.get`, are taken to be for `candidates`, if there are any but
        `root` itself.
        """
        distances = self._distances(root)
        works: dict[str, Work] = {}
        for process in sorted(distances, key=lambda name: -distances[name]):
            if process != root:
                works[process] = self._work_of(process, distances, works)
        waited_for, open_s = self._waits.links[root], self._waits.open_s.get(root, 0.0)
        open_for = self._ends_of_open(waited_for, candidates - {root}) if open_s > 0 else set()
        for process in open_for - set(works):
            works[process] = self._work_of(process, {process: 0}, works)
        groups = self._groups(root, waited_for, works, open_s, open_for)
        time = self._times[root]
        own, waits = _without_waits(time.mix, sum(group.wait_s for group in groups)), _by_stage(time.mix)
        return OwnerPath(
            own=own,
            followed=groups,
            waits=waits,
            mix=_joined(own, groups, waits),
            process=root,
            unfollowed=self._waits.not_followed(root, any(group.assumed_s > 0 for group in groups)),
            time=time,
            beside_s=sum(self._rows[process].beside_s for process in (root, *works)),
        )

    @staticmethod
    def _ends_of_open(waited_for: Mapping[str, float], candidates: Set[str]) -> Set[str]:
        """Return the processes for which waits without a recorded other end are taken to be.

        They are the first of these that is not empty: candidates that it is known to wait for; all candidates; all that
        it is known to wait for.
        """
        return waited_for.keys() & candidates or candidates or waited_for.keys()

    def _distances(self, root: str) -> dict[str, int]:
        """Count the waits that lie between the root and each process that it directly or indirectly waited for.

        If main waits for a worker, and the worker for a server, main has 0, the worker 1 and the server 2.
        """
        found = {root: 0}
        reached = [root]
        for process in reached:
            for other in self._waits.links[process]:
                if other not in found:
                    found[other] = found[process] + 1
                    reached.append(other)
        return found

    def _work_of(self, process: str, distances: Mapping[str, int], works: Mapping[str, Work]) -> Work:
        """Return what a process did, without its waits for processes that are no farther from the root than itself.

        A worker between main and a server waits for main (to be asked) and for the server. Only the wait for the server
        is followed, so circles end.
        """
        links, mix = self._waits.links[process], self._times[process].mix
        farther = {other: s for other, s in links.items() if distances.get(other, 0) > distances[process]}
        waited_s = sum(links.values()) + self._waits.open_s.get(process, 0.0) + self._waits.unlinked_s.get(process, 0.0)
        own, groups, waits = (
            _without_waits(mix, waited_s),
            self._groups(process, farther, works, 0.0, set()),
            _by_stage(mix),
        )
        return Work(own, groups, waits, _joined(own, groups, waits), self._waits.not_followed(process, True))

    def _groups(
        self, waits: str, waited_for: Mapping[str, float], works: Mapping[str, Work], open_s: float, open_for: Set[str]
    ) -> tuple[Followed, ...]:
        """Group the processes that the one called `waits` waited for by their names without numbers at the end.

        Of `open_s` seconds without a recorded other end, each group of `open_for` gets its share by mean work: of 6 s,
        a group of workers with 4 s of work gets 4 s, and a server with 2 s gets 2 s.
        """
        members: dict[str, list[str]] = {}
        for process in sorted(waited_for.keys() | open_for):
            members.setdefault(without_numbers(process), []).append(process)
        means = {
            name: mean(works[process].total_s for process in group)
            for name, group in members.items()
            if not open_for.isdisjoint(group)
        }
        whole_s = sum(means.values())
        found = []
        for name, group in members.items():
            assumed_s = open_s * means.get(name, 0.0) / whole_s if whole_s > 0 else 0.0
            wait_s = sum(waited_for.get(process, 0.0) for process in group) + assumed_s
            if wait_s > 0:
                sets = rounds([self._rows[process] for process in group])
                own = tuple(works[process] for process in group)
                waits_s = tuple(waited_for.get(process, 0.0) for process in group)
                functions = self._waits.functions(waits, group, assumed_s > 0)
                found.append(Followed(tuple(group), wait_s, own, assumed_s, sets, waits_s, functions))
        return tuple(sorted(found, key=lambda group: -group.wait_s))


def rounds(rows: Sequence[ProcessRow]) -> int:
    """Return how many sets of processes lived one after the other: their number by how many lived at a time.

    Those that all lived at some time are one set, however long it took to start them.
    """
    if max(row.start_s for row in rows) < min(row.end_s for row in rows):
        return 1
    lived_s = covered_s = 0.0
    reached_s = float("-inf")
    for row in sorted(rows, key=lambda row: row.start_s):
        lived_s += row.wall_s
        covered_s += max(0.0, row.end_s - max(reached_s, row.start_s))
        reached_s = max(reached_s, row.end_s)
    return max(1, round(len(rows) * covered_s / lived_s)) if lived_s > 0 else 1


def _joined(own: Mix, followed: Iterable[Followed], waits: Mapping[str, float]) -> Mix:
    """Return the process's own time, with what others did meanwhile in the place of its waits.

    A process with 2 s of its own, which waits 8 s for workers whose mean work is 5 s of simulation, has 2 s + 5 s of
    simulation + 3 s of waiting.
    """
    parts = [own]
    waits_s = sum(waits.values())
    for group in followed:
        if group.mean_s > 0:
            parts.append(_scaled(group.mix, group.worked_s / group.mean_s))
        # In all stages alike: of which they were is not known.
        left = {Kind(stage, Category.WAIT.label, Bound.WAITING): each for stage, each in waits.items()}
        parts.append(_scaled(left, group.spread_s / waits_s if waits_s > 0 else 0.0))
    return _summed(parts)


def without_numbers(name: str) -> str:
    """Return a process's name without the numbers at its end: `worker` for `worker_12` and for `worker_1(4711)`."""
    numbers = _NUMBERS_BACKWARDS.match(name[::-1])
    return name[: len(name) - len(numbers[0])] if numbers else name


def _by_stage(mix: Mix) -> dict[str, float]:
    """Return the seconds of waiting in each stage."""
    waits: dict[str, float] = {}
    for kind, seconds in mix.items():
        if kind.bound is Bound.WAITING:
            waits[kind.stage] = waits.get(kind.stage, 0.0) + seconds
    return waits


def _without_waits(mix: Mix, seconds: float) -> Mix:
    """Return a mix less so many seconds of waiting, taken from all stages in proportion.

    Taking 4 s from 6 s of waiting in simulation and 2 s in inference leaves 3 s and 1 s.
    """
    waits_s = waiting_s(mix)
    left = max(0.0, 1 - seconds / waits_s) if waits_s > 0 else 0.0
    return {kind: each * left if kind.bound is Bound.WAITING else each for kind, each in mix.items()}


def _scaled(mix: Mix, factor: float) -> Mix:
    """Return each kind's seconds times a factor."""
    return {kind: seconds * factor for kind, seconds in mix.items()}


def _summed(mixes: Iterable[Mix]) -> Mix:
    """Return the seconds of each kind in all mixes together."""
    found: dict[Kind, float] = {}
    for mix in mixes:
        for kind, seconds in mix.items():
            found[kind] = found.get(kind, 0.0) + seconds
    return found
