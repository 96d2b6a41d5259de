"""The most by which the work of a process shortens if some of it took no time."""

from collections.abc import Callable, Set

from rlscope.analysis.account.kinds import Bound, Kind, waiting_s
from rlscope.analysis.account.owner_path import Followed, OwnerPath, Work
from rlscope.analysis.averages import mean
from rlscope.model import STAGES

NOBODY: Set[Followed] = frozenset()


class Removal:
    """The most by which a path becomes shorter if some kinds of time, such as all inference, took no time.

    Say that main sleeps for 5 s in simulation, waits for 5 s in inference, and that one of both waits, which one is not
    recorded, was for a server that did 5 s of inference. If inference took no time, the wait in inference would go. If
    the wait for the server was the one in simulation, that would go too. So at most 10 s go. In general the trace says
    which waits were in the stage, and which were for whom, but not both of one wait; the bound here is that of the way
    to match them in which most goes.
    """

    def __init__(self, path: OwnerPath, is_it: Callable[[Kind], bool], stage: str | None) -> None:
        """Prepare the removal of the kinds for which `is_it` holds, and of waits in `stage`, from a path."""
        self._path = path
        self._is_it = is_it
        self._stage = stage
        self._saved_of: dict[Work, float] = {}
        self._movable_of: dict[Work, float] = {}
        for work in path.reached:
            self._saved_of[work] = self._of(work, NOBODY)
            self._movable_of[work] = self._movable_s(work)

    def saved_s(self, gone: Set[Followed] = NOBODY) -> float:
        """Return the seconds that the path loses at most; waiting for groups that are `gone` goes as a whole.

        They are 10 s in the example of the class.
        """
        return self._of(self._path, gone)

    def _of(self, work: Work, gone: Set[Followed]) -> float:
        """Return the seconds that one process's work loses at most.

        The example of the class has 0 s of main's own inference, 5 s of waiting for the server wherever it was, and 5 s
        of waits in inference, because the 5 s of sleep may have been those.
        """
        own_s = sum(seconds for kind, seconds in work.own.items() if self._is_it(kind) and not _waits(kind))
        anywhere_s = {group: group.wait_s if group in gone else self._shortened_s(group) for group in work.followed}
        # Of the waits in the stage, as many as can be are of those that go only there.
        only_there_s = waiting_s(work.own) + sum(
            self._shortened_in_stage_s(group) - seconds for group, seconds in anywhere_s.items() if group not in gone
        )
        in_stage_s = work.waits.get(self._stage, 0.0) if self._stage is not None else 0.0
        return own_s + sum(anywhere_s.values()) + min(in_stage_s, only_there_s)

    def mean_s(self, group: Followed) -> float:
        """Return the seconds that the work of a process of the group loses at most, on average.

        If simulation took no time, two workers that simulated for 4 s and for 6 s would lose 5 s on average.
        """
        return mean(self._saved_of[work] for work in group.works)

    def _shortened_s(self, group: Followed) -> float:
        """Return the seconds by which waiting for a group becomes shorter at most, in whichever stage it was.

        Main waited 8 s for two workers, of which one simulated for 4 s and one for 6 s. If simulation took no time, the
        wait shortens by at most 8 s: no more than the wait itself (8), than the mean work and what the wait was longer
        than that (5 + 3), and than the work of both, one after the other (2 times 5).
        """
        mean_s = self.mean_s(group)
        return min(group.wait_s, group.spread_s + mean_s, len(group.names) * mean_s)

    def _shortened_in_stage_s(self, group: Followed) -> float:
        """Return the seconds by which waiting for a group becomes shorter at most if all of it was in the stage.

        Main waits 8 s in inference for a server that does 6 s of inference and 2 s of backpropagation. The 2 s stay, so
        the wait shortens by 6 s.
        """
        return min(group.wait_s, group.spread_s + mean(self._movable_of[work] for work in group.works))

    def _movable_s(self, work: Work) -> float:
        """Return the seconds of a process's work that are not known to be of another stage.

        They are 7 s when inference is removed from 6 s of inference, 1 s in no stage and 2 s of backpropagation.
        """
        own_s = sum(seconds for kind, seconds in work.own.items() if self._may_be(kind) and not _waits(kind))
        elsewhere_s = sum(s for stage, s in work.waits.items() if stage in STAGES and stage != self._stage)
        waits_s = min(waiting_s(work.own), sum(work.waits.values()) - elsewhere_s)
        return own_s + waits_s + sum(self._shortened_in_stage_s(group) for group in work.followed)

    def _may_be(self, kind: Kind) -> bool:
        return self._is_it(kind) or kind.is_in_no_stage


def _waits(kind: Kind) -> bool:
    return kind.bound is Bound.WAITING
