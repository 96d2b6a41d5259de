"""By how much the work of a process shortens at most if some of it took no time."""

from collections.abc import Callable, Set
from statistics import fmean

from rlscope.analysis.advice.causes import Cause, Kind, waiting_s
from rlscope.analysis.advice.owner_path import Followed, OwnerPath, Work
from rlscope.model import STAGES

NOBODY: Set[Followed] = frozenset()


class Removal:
    """Time of some kinds that goes, and with it all waiting in a stage but for what others do in another stage.

    Which waits of a process were in the stage and which for whom is recorded, but not both of one wait. So what goes is
    that of the way to match them in which most does: a bound, whatever way was the true one.
    """

    def __init__(self, path: OwnerPath, is_it: Callable[[Kind], bool], stage: str | None) -> None:
        """Of kinds of time on a path, and of the waits in a stage, if there is one."""
        self._path = path
        self._is_it = is_it
        self._stage = stage
        self._saved_of: dict[Work, float] = {}
        self._movable_of: dict[Work, float] = {}
        for work in path.reached:
            self._saved_of[work] = self._of(work, NOBODY)
            self._movable_of[work] = self._movable_s(work)

    def saved_s(self, gone: Set[Followed] = NOBODY) -> float:
        """What goes of the path at most, all waiting for groups that are `gone` included."""
        return self._of(self._path, gone)

    def _of(self, work: Work, gone: Set[Followed]) -> float:
        own_s = sum(seconds for kind, seconds in work.own.items() if self._is_it(kind) and not _waits(kind))
        anywhere_s = {group: group.wait_s if group in gone else self._shortened_s(group) for group in work.followed}
        # Of the waits in the stage, as many as can be are of those that go only there.
        only_there_s = waiting_s(work.own) + sum(
            self._shortened_in_stage_s(group) - seconds for group, seconds in anywhere_s.items() if group not in gone
        )
        in_stage_s = work.waits.get(self._stage, 0.0) if self._stage is not None else 0.0
        return own_s + sum(anywhere_s.values()) + min(in_stage_s, only_there_s)

    def mean_s(self, group: Followed) -> float:
        """What goes of the work of each process of a group at most, on average."""
        return fmean(self._saved_of[work] for work in group.works)

    def _shortened_s(self, group: Followed) -> float:
        """By how much waiting for a group shortens anywhere: the rest of its work, shared evenly, stays."""
        mean_s = self.mean_s(group)
        return min(group.wait_s, group.spread_s + mean_s, len(group.names) * mean_s)

    def _shortened_in_stage_s(self, group: Followed) -> float:
        """By how much if all of it is in the stage."""
        return min(group.wait_s, group.spread_s + fmean(self._movable_of[work] for work in group.works))

    def _movable_s(self, work: Work) -> float:
        """What of a process's work is not of another stage for sure."""
        own_s = sum(seconds for kind, seconds in work.own.items() if self._may_be(kind) and not _waits(kind))
        elsewhere_s = sum(s for stage, s in work.waits.items() if stage in STAGES and stage != self._stage)
        waits_s = min(waiting_s(work.own), sum(work.waits.values()) - elsewhere_s)
        return own_s + waits_s + sum(self._shortened_in_stage_s(group) for group in work.followed)

    def _may_be(self, kind: Kind) -> bool:
        return self._is_it(kind) or kind.is_in_no_stage


def _waits(kind: Kind) -> bool:
    return kind.cause is Cause.WAITING
