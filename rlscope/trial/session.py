"""This file tries a command from beginning to end: a first run, the changes to try, and turns."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from rlscope.errors import UsageError
from rlscope.trial.change import FIRST, Change, change_names
from rlscope.trial.document import SCHEMA, Measured, Tried, TryDocument
from rlscope.trial.one_trial import UNKNOWN, Command, Outcome, findings_of, run_trial, unit_text
from rlscope.trial.turns import Turns

#: A run with changes may take so many times as long as the first one, and so many seconds more.
PATIENCE, PATIENCE_S = 10, 60


class Session:
    """One command that is tried, and what is known of it so far.

    Attributes:
        first: The first run, which finds out what is measured; None before its end.
    """

    def __init__(
        self, command: Command, minutes: float, say: Callable[[str], None], told: Callable[[Tried], None]
    ) -> None:
        """Begin.

        Args:
            command: What is tried.
            minutes: After so many no further run begins.
            say: Is told what is done.
            told: Is told of each change about which it is decided.
        """
        self.first: Outcome | None = None
        self._command = command
        self._proposed: tuple[str, ...] = ()
        self._say = say
        self._limit_s = float(PATIENCE_S)
        self._turns = Turns(self._run, minutes, told)

    def take(self, names: tuple[str, ...] | None, is_all: bool) -> None:
        """Run the command as it is, then with changes: those of these names, or those that rules propose."""
        self._say("a first run, of the program as it is")
        first = run_trial(self._command, (), UNKNOWN, change_names())
        if first.failure:
            raise UsageError(
                "a program that trains was expected: updates of PyTorch's optimizers, or steps of Gymnasium's "
                f"environments, but none came: {first.failure}"
            )
        if not first.part.end > first.part.begin:
            raise UsageError(f"several updates were expected, but there were {first.part.end}; let it train for longer")
        self.first = first
        self._limit_s = PATIENCE_S + PATIENCE * first.wall_ns / 1e9
        self._say(f"measured are {unit_text(first.part)}")
        if names is None:
            self._say("a recorded run, for rules to propose changes")
            found = {row["trial"] for row in findings_of(self._command, first.part)}
            names = tuple(name for name in change_names() if name in found or (name == FIRST and self._is_crowded()))
            is_all = not first.met.keys() & set(names)
            if is_all:
                self._say("no rule proposes a change that can be made from outside: all that alter something are tried")
                names = change_names()
        if is_all:
            names = tuple(name for name in names if name in first.met)
        self._proposed = names
        for name in names:
            if name not in first.met:
                self._turns.leave_out(Change(name))
        self._turns.take([Change(name) for name in names if name in first.met], self._is_crowded())

    def _is_crowded(self) -> bool:
        """Return whether processes times threads are more than the cores."""
        return self.first is not None and self.first.threads * self.first.processes > len(os.sched_getaffinity(0))

    def _run(self, changes: Sequence[Change]) -> Outcome:
        assert self.first is not None
        return run_trial(self._command, changes, self.first.part, limit_s=self._limit_s)

    def document(self) -> TryDocument:
        """Return what is known."""
        first = self.first
        assert first is not None
        return TryDocument(
            SCHEMA,
            self._command.words,
            first.isolation,
            self._measured(first),
            self._proposed,
            (*self._turns.tried, *self._turns.unfinished()),
            tuple(change.name for change in self._turns.kept),
            self._turns.is_complete,
            tuple(sorted(self._turns.overwritten)),
        )

    def _measured(self, first: Outcome) -> Measured:
        unchanged = self._turns.unchanged
        if unchanged is None:
            return Measured(*first.part, first.processes, None, None)
        return Measured(*first.part, first.processes, unchanged.processor_ns / 1e9, unchanged.wall_ns / 1e9)
