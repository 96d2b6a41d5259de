"""This file runs the command once, with changes or without, and reads what its processes said."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rlscope.bench.one_run import run
from rlscope.bench.turns import rlscope_command
from rlscope.errors import UsageError
from rlscope.record.run.trace_directory import with_startup
from rlscope.trial.change import Change
from rlscope.trial.isolation.isolation import Isolation
from rlscope.trial.plan import PLAN_VARIABLE, STEPS, TRIAL_VARIABLE, UPDATES, Plan, lines_of


class Part(NamedTuple):
    """The measured part: it begins after so many of a unit, and ends after so many."""

    unit: str
    begin: int
    end: int


#: Is to be found out by the run.
UNKNOWN = Part("", 0, 0)
#: Both happen where the trial does, as nothing that it writes is seen outside. The first word is rlscope.
_RECORD_AND_CHECK = """
folder=$(mktemp -d) && "$0" record -o "$folder/trace" -- "$@" >/dev/null
"$0" check --json "$folder/trace"
"""


class Outcome(NamedTuple):
    """A run of the command gave this.

    Attributes:
        part: What was measured; of a first run, what is to be.
        processor_ns: Processor time of the part, of all processes.
        wall_ns: How long it took.
        losses: The first losses, or rewards where there is no loss.
        is_of_losses: Whether they are losses.
        sums: Of each optimizer the sum of all parameters at the end.
        processes: How many processes there were at the end.
        threads: How many threads operators had in the process that trains.
        met: By change, the lines that keep what it met.
        failure: Why there is nothing; empty if there is.
        overwritten: Files that it would have overwritten.
        isolation: What kept it from harm.
    """

    part: Part
    processor_ns: int = 0
    wall_ns: int = 0
    losses: tuple[float, ...] = ()
    is_of_losses: bool = False
    sums: tuple[float, ...] = ()
    processes: int = 0
    threads: int = 1
    met: Mapping[str, tuple[str, ...]] = {}
    failure: str = ""
    overwritten: tuple[Path, ...] = ()
    isolation: str = ""


class Command(NamedTuple):
    """The command that is tried, and how.

    Attributes:
        words: The command.
        folder: Where it runs.
        network: Whether it may use one.
        in_place: Whether it writes where it would write without a trial.
        mask: The signals that it finds blocked; this process holds those that end it.
    """

    words: tuple[str, ...]
    folder: Path
    network: bool
    in_place: bool
    mask: set[signal.Signals]


def run_trial(
    command: Command, changes: Iterable[Change], part: Part, watched: Iterable[str] = (), limit_s: float = 600.0
) -> Outcome:
    """Run the command up to the end of the measured part.

    Args:
        command: What is tried.
        changes: What is changed.
        part: What is measured; UNKNOWN has the run find that out.
        watched: Names of changes of which it is only noted what they would meet.
        limit_s: Seconds that it may take.

    Raises:
        EndedError: this process was asked to end. Nothing of the run goes on.
        IsolationRefused: it cannot be kept from harm here.
    """
    changed = list(changes)
    with _results() as file:
        plan = Plan(tuple(each.name for each in changed), tuple(watched), *part, file)
        variables = with_startup(os.environ) | {PLAN_VARIABLE: plan.text()}
        for each in changed:
            variables |= each.environment
        done = _run(command, command.words, variables, limit_s)
        return _outcome(lines_of(file[0]), part, done)


def findings_of(command: Command, part: Part, limit_s: float = 600.0) -> list[dict[str, Any]]:
    """Record the command up to the end of the measured part; return what rules find, as `rlscope check --json` has it.

    Raises:
        UsageError: nothing was recorded.
        EndedError: this process was asked to end. Nothing of the run goes on.
    """
    with _results() as file:
        plan = f"{PLAN_VARIABLE}={Plan((), (), *part, file).text()}"
        # The plan is for the command alone: its first process is the one that is ended.
        words = ["/bin/sh", "-c", _RECORD_AND_CHECK, *rlscope_command(), "env", plan, *command.words]
        done = _run(command, words, os.environ, limit_s)
    try:
        runs = json.loads(done.printed)["runs"]
    except (ValueError, KeyError):
        raise UsageError(
            f"a recording of the command was expected, to ask rules about, but there is none: {done.failure}; name "
            "changes with --changes"
        ) from None
    return [row for rows in runs.values() for row in rows]


class _Done(NamedTuple):
    """A run that has ended: what it printed, why it may have failed, what it would have overwritten, what kept it."""

    printed: str
    failure: str
    overwritten: tuple[Path, ...]
    isolation: str


def _run(command: Command, words: Sequence[str], environment: Mapping[str, str], limit_s: float) -> _Done:
    """Run words in isolation."""
    with (
        _file_in_memory() as printed,
        _file_in_memory() as said,
        Isolation(command.folder, network=command.network, in_place=command.in_place) as isolation,
    ):
        output, errors = (Path(f"/proc/self/fd/{number}") for number in (printed, said))
        isolated = isolation.command(words)
        # With other hashes sets have another order, and some programs another course.
        variables = {"PYTHONHASHSEED": "0", TRIAL_VARIABLE: "1", **environment, **isolation.environment}
        try:
            status = run(isolated, output, False, command.mask, variables, errors, limit_s)
            failure = _last_line(_text_of(said)) or f"it ended with status {status} before anything was measured"
        except TimeoutError:
            failure = f"it took longer than {limit_s:.0f} s"
        return _Done(_text_of(printed), failure, isolation.overwritten(), isolation.kind)


@contextmanager
def _file_in_memory() -> Iterator[int]:
    """Give the number of an open file without a name: nothing has to remove it, however this process ends."""
    number = os.memfd_create("rlscope-try")
    try:
        yield number
    finally:
        os.close(number)


@contextmanager
def _results() -> Iterator[tuple[int, int, int]]:
    """Give the file of results, which leads out of every name space: its number, its device and its inode."""
    with _file_in_memory() as number:
        fcntl.fcntl(number, fcntl.F_SETFL, os.O_APPEND)  # several processes write
        os.set_inheritable(number, True)
        status = os.fstat(number)
        yield number, status.st_dev, status.st_ino


def _outcome(lines: list[dict[str, Any]], part: Part, done: _Done) -> Outcome:
    met: dict[str, dict[str, None]] = {}
    for line in lines:
        if "met" in line:
            met.setdefault(line["change"], {})[line["keep"]] = None
    keeps = {name: tuple(lines) for name, lines in met.items()}
    ended = next((line for line in lines if "ended" in line), None)
    if ended is None:
        failure = done.failure
        early = max((line["early"] for line in lines if "early" in line), default=None)
        if early is not None:
            failure = f"it ended by itself after {early} of {part.end} {part.unit}"
        return Outcome(part, met=keeps, failure=failure, overwritten=done.overwritten, isolation=done.isolation)
    return Outcome(
        Part(ended["unit"], ended["begin"], ended["end"]), ended["processor_ns"], ended["wall_ns"],
        tuple(ended["losses"]), ended["is_of_losses"], tuple(ended["sums"]), ended["processes"],
        ended["threads"], keeps, "", done.overwritten, done.isolation,
    )  # fmt: skip


def _text_of(number: int) -> str:
    return os.pread(number, os.fstat(number).st_size, 0).decode(errors="replace")


def _last_line(text: str) -> str:
    """Return the last line that is not empty."""
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in reversed(lines) if line), "")


def unit_text(part: Part) -> str:
    """Say what was measured, such as `updates 48 to 144`."""
    unit = {UPDATES: "updates", STEPS: "steps of environments"}[part.unit]
    return f"{unit} {part.begin:,} to {part.end:,}"
