"""This file takes turns: the command as it is and with one change at a time, until it is known what each brings.

What pays most stays on, and the next is tried on top of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from rlscope.errors import UsageError
from rlscope.trial.change import FIRST, Change
from rlscope.trial.document import Clock, Factor, Tried
from rlscope.trial.numbers import Kind, Numbers, compared
from rlscope.trial.one_trial import Outcome
from rlscope.trial.pairs import Verdict, factor_of, verdict_of

#: Runs the command with these changes.
Run = Callable[[Sequence[Change]], Outcome]


class Turns:
    """All turns of one command.

    Attributes:
        tried: What was tried so far.
        kept: The changes that paid, in the order in which they were kept.
        is_complete: Whether all was tried, and decided.
        overwritten: Files that a run would have overwritten.
        unchanged: The first of the runs without a change; None before it.
    """

    def __init__(self, run: Run, minutes: float, told: Callable[[Tried], None]) -> None:
        """Begin. `told` is called with each change about which it is decided."""
        self._run = run
        self._deadline = time.monotonic() + 60 * minutes
        self._told = told
        self._now: dict[str, _Pairs] = {}
        self.tried: list[Tried] = []
        self.kept: tuple[Change, ...] = ()
        self.is_complete = False
        self.overwritten: set[str] = set()
        self.unchanged: Outcome | None = None

    def take(self, changes: Iterable[Change], threads_first: bool) -> None:
        """Try changes; threads before all others where they take each other's cores."""
        left = tuple(changes)
        if threads_first:
            first = [change for change in left if change.name == FIRST]
            left = tuple(change for change in left if change.name != FIRST)
            self._keep_best(first)
        while left:
            paid = self._keep_best(left)
            last = self.kept[-1] if paid else None
            left = tuple(change for change in paid if last and change.name not in last.excludes)
        if len(self.kept) > 1:
            self._stage((), {"+": self.kept})
        self.is_complete = not any(each.verdict is Verdict.OPEN for each in self.tried)

    def leave_out(self, change: Change) -> None:
        """Note that the program has nothing that a change alters, so that it need not be tried."""
        pairs = _Pairs((), (change,))
        pairs.is_without()
        self._decided(pairs)

    def unfinished(self) -> tuple[Tried, ...]:
        """Return what is known of changes about which it is not decided."""
        return tuple(each.tried() for each in self._now.values() if each.has_any)

    def _keep_best(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """Try each change on top of what is kept; keep the best, and return the others that paid or may."""
        found = self._stage(self.kept, {change.name: (change,) for change in changes})
        paying = [change for change in changes if found[change.name].verdict is Verdict.PAYS]
        if not paying:
            return ()
        best = max(paying, key=lambda change: _value(found[change.name]))
        self.kept += (best,)
        may_pay = (Verdict.PAYS, Verdict.OPEN)
        return tuple(each for each in changes if each is not best and found[each.name].verdict in may_pay)

    def _stage(self, base: tuple[Change, ...], tried: Mapping[str, tuple[Change, ...]]) -> dict[str, Tried]:
        """Try each group of changes on top of a base, in turns."""
        begun = time.monotonic()
        half = begun + (self._deadline - begun) / 2
        found: dict[str, Tried] = {}
        self._now = {name: _Pairs(base, changes) for name, changes in tried.items()}
        bases: list[Outcome] = []
        is_forward = True

        def goes_on() -> bool:
            """Return whether there is time: as soon as something pays, half of it is for what comes on top."""
            pays = any(each.verdict is Verdict.PAYS for each in found.values())
            return time.monotonic() < (half if pays else self._deadline)

        while self._now and goes_on():
            order = ["", *self._now]
            outcomes = {
                name: self._once((*base, *(tried[name] if name else ()))) for name in order[:: 1 if is_forward else -1]
            }
            is_forward = not is_forward
            bases.append(outcomes[""])
            if bases[-1].failure:
                what = "the unchanged program" if not base else f"the program with {_names(base)}"
                raise UsageError(
                    f"{what} was to run as before, but failed: {bases[-1].failure}; run it by itself to see why"
                )
            for name, pairs in list(self._now.items()):
                pairs.add(bases, outcomes[name])
                if pairs.is_decided:
                    found[name] = self._decided(pairs)
                    del self._now[name]
        for name, pairs in self._now.items():
            found[name] = self._decided(pairs)
        self._now = {}
        return found

    def _once(self, changes: Sequence[Change]) -> Outcome:
        outcome = self._run(changes)
        self.overwritten.update(map(os.fspath, outcome.overwritten))
        if not changes and self.unchanged is None:
            self.unchanged = outcome
        return outcome

    def _decided(self, pairs: _Pairs) -> Tried:
        tried = pairs.tried()
        self.tried.append(tried)
        self._told(tried)
        return tried


class _Pairs:
    """The pairs of runs of one group of changes on top of a base."""

    def __init__(self, base: tuple[Change, ...], changes: tuple[Change, ...]) -> None:
        self._base = base
        self._changes = changes
        self._clock = Clock.WALL if any(change.is_of_wall for change in changes) else Clock.PROCESSOR
        self._pairs: list[tuple[Outcome, Outcome]] = []
        self._numbers: Numbers | None = None
        self._keep: tuple[str, ...] = ()
        self._why = ""
        self._verdict: Verdict | None = None

    @property
    def has_any(self) -> bool:
        """Return whether anything is known."""
        return bool(self._pairs) or self._verdict is not None

    @property
    def is_decided(self) -> bool:
        """Return whether more pairs would tell nothing new."""
        return self._verdict is not None or self._by_pairs() is not Verdict.OPEN

    def add(self, bases: Sequence[Outcome], changed: Outcome) -> None:
        """Add a pair: a run of the base, the last one of these, and one with the changes."""
        missing = [change.name for change in self._changes if change.name not in changed.met]
        self._keep = tuple(keep for change in self._changes for keep in changed.met.get(change.name, ()))
        if changed.failure:
            self._verdict, self._why = Verdict.FAILED, changed.failure
        elif missing:
            self.is_without()
        else:
            self._pairs.append((bases[-1], changed))
            self._numbers = _numbers(bases, changed)

    def is_without(self) -> None:
        """Note that a change was not in force."""
        self._verdict, self._why = Verdict.NOT_IN_FORCE, "the program has nothing that it alters"

    def tried(self) -> Tried:
        """Return what is known."""
        is_measured = bool(self._pairs) and self._verdict is None
        return Tried(
            changes=tuple(change.name for change in self._changes),
            on_top_of=tuple(change.name for change in self._base),
            verdict=self._verdict or (self._by_pairs() if self._pairs else Verdict.OPEN),
            clock=self._clock,
            pairs=len(self._pairs) if is_measured else 0,
            processor=self._factor(Clock.PROCESSOR) if is_measured else None,
            wall=self._factor(Clock.WALL) if is_measured else None,
            alters="; ".join(dict.fromkeys(change.alters for change in self._changes)),
            numbers=self._numbers if is_measured else None,
            keep=self._keep,
            why=self._why or ("" if self._pairs else "the minutes had ended"),
        )

    def _times(self, clock: Clock) -> list[tuple[float, float]]:
        if clock is Clock.WALL:
            return [(without.wall_ns, with_it.wall_ns) for without, with_it in self._pairs]
        return [(without.processor_ns, with_it.processor_ns) for without, with_it in self._pairs]

    def _by_pairs(self) -> Verdict:
        return verdict_of(factor_of(self._times(self._clock)))

    def _factor(self, clock: Clock) -> Factor:
        found = factor_of(self._times(clock))
        return Factor(found.value, found.low, found.high)


def _numbers(bases: Sequence[Outcome], changed: Outcome) -> Numbers:
    """Compare numbers with those of the base; two runs of which say whether they are the same each time."""
    first, last = bases[0], bases[-1]
    what = "losses" if first.is_of_losses else "rewards"
    found = compared(first.losses, changed.losses, first.sums, changed.sums, what)
    itself = compared(first.losses, last.losses, first.sums, last.sums, what)
    if itself.kind is not Kind.SAME and found.kind is not Kind.NOT_KNOWN:
        return Numbers(Kind.UNSTEADY, what, itself.compared, itself.equal, itself.relative, itself.sums_relative)
    return found


def _value(tried: Tried) -> float:
    return tried.factor.value if tried.factor is not None else 0.0


def _names(changes: Iterable[Change]) -> str:
    return " and ".join(change.name for change in changes)
