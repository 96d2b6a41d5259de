"""This file runs inside each Python of a trial: it makes the changes, and has a part of the training measured."""

from __future__ import annotations

import atexit
import json
import os
import sys

from rlscope.record.import_hooks import ImportHooks
from rlscope.record.replacements import Replacements
from rlscope.trial import seeds
from rlscope.trial.change import Making, module_of
from rlscope.trial.isolation.hook import install_in_copy
from rlscope.trial.measured_part import MeasuredPart
from rlscope.trial.plan import FIRST_VARIABLE, PLAN_VARIABLE, Plan, lines_of, results_file

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from typing import Any


class _Results:
    """The file of results: one line for each thing that a process says."""

    def __init__(self, file: int) -> None:
        self._file = file

    def say(self, **said: Any) -> None:
        os.write(self._file, json.dumps({"pid": os.getpid(), **said}).encode() + b"\n")


class _Met:
    """The things that changes met in this process. The first of each is said at once, for a process may be killed."""

    def __init__(self, results: _Results) -> None:
        self._results = results
        self.counts: dict[tuple[str, str], int] = {}

    def note(self, change: str, what: str, keep: str) -> None:
        key = change, what
        count = self.counts[key] = self.counts.get(key, 0) + 1
        if count == 1:
            self._results.say(change=change, met=what, keep=keep)

    def count_of(self, change: str) -> int:
        return sum(count for (name, _), count in list(self.counts.items()) if name == change)


def start() -> None:
    """Take part in a trial. The program goes on where that cannot be done, and `rlscope try` is told nothing by it."""
    install_in_copy()
    plan = Plan.parse(os.environ[PLAN_VARIABLE])
    try:
        file, first = results_file(plan)
    except OSError as error:
        print(
            f"rlscope: a process that takes part in the trial was expected, but {error}; process {os.getpid()} runs "
            f"unchanged. Start it as a child that inherits {FIRST_VARIABLE}",
            file=sys.stderr,
        )
        return
    if any("ended" in line for line in lines_of(file)):
        os._exit(0)  # what a script of a shell runs behind the training is not tried
    results = _Results(file)
    met = _Met(results)
    hooks = ImportHooks()
    seeds.prepare(hooks, Replacements())
    looks = []
    for name in (*plan.changes, *plan.watched):
        making = Making(name, name in plan.changes, hooks, met.note)
        change = module_of(name)
        change.prepare(making)
        if hasattr(change, "look"):
            looks.append((change.look, making))

    def look() -> None:
        for each, making in looks:
            each(making)

    part = MeasuredPart(plan, first, results.say, look, lambda: met.count_of("no-evaluation"))
    part.prepare(hooks)
    hooks.install()
    atexit.register(part.end_of_program)
