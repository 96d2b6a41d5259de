"""The verb `try` runs a training with one change at a time, made from outside, and says what each one brings."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from rlscope.analysis.rows import Record
from rlscope.bench.one_run import EndedError
from rlscope.errors import UsageError
from rlscope.record.config import TRACE_VARIABLE
from rlscope.report.screen import Screen
from rlscope.report.tables import table_lines
from rlscope.signals import held_signals
from rlscope.text import printable
from rlscope.text.numbers import digits, digits_ends, duration
from rlscope.trial.change import FIRST, Change, change_names
from rlscope.trial.document import SCHEMA, Factor, Measured, Tried, TryDocument, plain
from rlscope.trial.one_trial import UNKNOWN, Command, Outcome, Part, findings_of, run_trial, unit_text
from rlscope.trial.turns import Turns

ALL = "all"
#: A run with changes may take so many times as long as the first one, and so many seconds more.
PATIENCE, PATIENCE_S = 10, 60
#: More names of files are not read.
FILES_SHOWN = 10


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--changes",
    "asked",
    metavar="NAMES",
    help=f"Try these changes (comma-separated), or {ALL} that the program has something for; else those that rules "
    "propose for it.",
)
@click.option("--list", "is_list", is_flag=True, help="List the changes.")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Begin no run later than that; what is not sure then stays open.",
)
@click.option("--network", is_flag=True, help="Let the program use the network.")
@click.option("--in-place", is_flag=True, help="Let the program write where it would write without a trial.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def try_(
    asked: str | None,
    is_list: bool,
    minutes: float,
    network: bool,
    in_place: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND as it is and with one change at a time, in turns, and say what each change brings.

    Nothing is edited, and nothing that a run writes stays. A run ends as soon as a part of the training is measured.

    \b
    Examples:
      rlscope try -- python train.py
      rlscope try --changes threads,fused -- python train.py
    """
    if is_list:
        for change in map(Change, change_names()):
            click.echo(f"{change.name}  {change.title}; alters {change.alters}")
        return
    if not command:
        raise UsageError("a command to try was expected, but none was given: rlscope try -- COMMAND")
    if TRACE_VARIABLE in os.environ:
        raise UsageError("this runs inside `rlscope record`, which would record all trials; run it outside")
    names = None if asked is None else change_names() if asked == ALL else _checked(asked)
    ended: EndedError | None = None
    with held_signals() as mask:
        tried = _Try(Command(command, Path.cwd(), network, in_place, mask), minutes)
        try:
            tried.take(names, asked == ALL)
        except EndedError as error:
            if tried.first is None:
                raise
            ended = error
    document = tried.document()
    if as_json:
        json.dump(plain(document), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        click.echo("\n".join(_lines(document, Screen.of_stdout())))
    if ended is not None:
        raise ended


def _checked(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in change_names()]
    if unknown or not names:
        raise UsageError(
            f"changes are {', '.join(change_names())}; --changes was given {', '.join(unknown) or 'none of them'}"
        )
    return names


class _Try:
    """One command that is tried, and what is known of it so far."""

    def __init__(self, command: Command, minutes: float) -> None:
        self.first: Outcome | None = None
        self._command = command
        self._proposed: tuple[str, ...] = ()
        self._limit_s = float(PATIENCE_S)
        self._turns = Turns(self._run, minutes, _tell)

    def take(self, names: tuple[str, ...] | None, is_all: bool) -> None:
        """Run the command as it is, then with changes: those of these names, or those that rules propose."""
        _say("a first run, of the program as it is")
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
        _say(f"measured are {unit_text(first.part)}")
        if names is None:
            _say("a recorded run, for rules to propose changes")
            found = {row["trial"] for row in findings_of(self._command, first.part)}
            names = tuple(name for name in change_names() if name in found or (name == FIRST and self._is_crowded()))
            is_all = not first.met.keys() & set(names)
            if is_all:
                _say("no rule proposes a change that can be made from outside: all that alter something are tried")
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


def _tell(tried: Tried) -> None:
    factor = f", {_factor_text(tried.factor)} times as fast" if tried.factor is not None else ""
    _say(f"{_name(tried)}: {tried.verdict.value}{factor}{f', {tried.why}' if tried.why else ''}")


def _say(text: str) -> None:
    click.echo(f"rlscope: {printable(text)}", err=True)


def _lines(document: TryDocument, screen: Screen) -> list[str]:
    measured = document.measured
    took = ""
    if measured.processor_s is not None and measured.wall_s is not None:
        took = f", {duration(measured.processor_s)} of processor time, {duration(measured.wall_s)} of the wall"
    processes = f"{measured.processes} process{'es' if measured.processes != 1 else ''}"
    part = unit_text(Part(measured.unit, measured.begin, measured.end))
    lines = screen.filled(f"Measured: {part}{took}, {processes}.")
    if not document.tried:
        return [*lines, *screen.filled(_without_any(document))]
    rows = [_record(each) for each in document.tried]
    lines += ["", *table_lines("How many times as fast with a change", rows, screen)]
    for each in document.tried:
        lines += ["", *screen.filled(f"{_name(each)}: {_sentence(each)}")]
    if not document.is_complete:
        lines += ["", *screen.filled("Not all is known: more --minutes would tell.")]
    if document.overwritten:
        some = ", ".join(document.overwritten[:FILES_SHOWN])
        rest = len(document.overwritten) - FILES_SHOWN
        lines += ["", *screen.filled(f"A run would have overwritten {some}{f' and {rest} more' if rest > 0 else ''}.")]
    return lines


def _without_any(document: TryDocument) -> str:
    if document.is_complete:
        return "No change has anything to alter in this program: `rlscope try --list` says what each one does."
    return "It was ended before a change was tried."


def _record(tried: Tried) -> Record:
    return {
        "change": _name(tried),
        "times_as_fast": _factor_text(tried.factor) if tried.factor is not None else "",
        "of": tried.clock.value if tried.factor is not None else "",
        "pairs": tried.pairs,
        "verdict": tried.verdict.value,
        "numbers": tried.numbers.kind.value if tried.numbers is not None else "",
    }


def _sentence(tried: Tried) -> str:
    """Say what the table has no room for."""
    if tried.why:
        return f"{tried.verdict.value}: {tried.why}."
    said = [f"alters {tried.alters}"]
    if tried.numbers is not None:
        said.append(f"numbers: {tried.numbers.text}")
    if tried.keep:
        said.append(f"to keep it: {_listed(tried.keep)}")
    return ". ".join(f"{part[0].upper()}{part[1:]}" for part in said) + "."


def _listed(lines: Iterable[str]) -> str:
    return "; ".join(lines)


def _name(tried: Tried) -> str:
    name = " + ".join(tried.changes)
    return f"{name} (with {' + '.join(tried.on_top_of)})" if tried.on_top_of else name


def _factor_text(factor: Factor) -> str:
    if factor.low is None or factor.high is None:
        return digits(factor.value)
    return f"{digits(factor.value)} {digits_ends(factor.low, factor.high)}"
