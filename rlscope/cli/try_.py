"""The verb `try` runs a training with one change at a time, made from outside, and says what each one brings."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlscope.bench.one_run import ENDING, EndedError
from rlscope.errors import UsageError
from rlscope.record.config import TRACE_VARIABLE
from rlscope.signals import held_signals
from rlscope.text import printable
from rlscope.trial.change import Change, change_names

if TYPE_CHECKING:
    from rlscope.trial.document import TryDocument

ALL = "all"


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
    with held_signals() as mask:
        # With numpy and scipy, whose threads would take signals if they began before.
        from rlscope.report.trials_shown import trial_text
        from rlscope.trial.one_trial import Command
        from rlscope.trial.session import Session

        tried = Session(
            Command(command, Path.cwd(), network, in_place, mask),
            minutes,
            _say,
            lambda each: _say(trial_text(each)),
        )
        try:
            tried.take(names, asked == ALL)
        except EndedError:
            if tried.first is not None:
                _print(tried.document(), as_json)
            while signal.sigtimedwait(ENDING, 0):  # it has been obeyed, and is not to end this process a second time
                pass
            raise
    _print(tried.document(), as_json)


def _print(document: "TryDocument", as_json: bool) -> None:
    from rlscope.report.trials_shown import print_trials
    from rlscope.trial.document import plain

    if as_json:
        json.dump(plain(document), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_trials(document)


def _checked(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in change_names()]
    if unknown or not names:
        raise UsageError(
            f"changes are {', '.join(change_names())}; --changes was given {', '.join(unknown) or 'none of them'}"
        )
    return names


def _say(text: str) -> None:
    click.echo(f"rlscope: {printable(text)}", err=True)
