"""This file is the command `rlscope VERB`: it gives all that a user can cause one error style and one exit status."""

import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword

import click

from rlscope.errors import RLScopeError
from rlscope.text import printable
from rlscope.version import __version__

#: As a shell says it of a program that wrote on after `| head` had enough.
READER_IS_GONE = 128 + signal.SIGPIPE
#: Verbs for a job that is running. Each is a command of that name in rlscope/cli/running/NAME.py.
RUNNING = ("top", "why", "start", "stop", "window")
#: All of them in the order of use. Each of the others is in rlscope/cli/NAME.py; `try`, which Python has, in try_.py.
VERBS = (
    "calibrate", "record", *RUNNING, "inspect", "analyze", "check", "explain", "forecast", "try", "report", "plot",
    "export", "compare", "baseline", "bench", "doctor",
)  # fmt: skip


FIRST_STEPS = """\
Record a training, then look where its time went:
  rlscope record -o trace -- python train.py
  rlscope analyze trace
`rlscope doctor` checks this machine; `rlscope --help` lists all commands."""


class _Verbs(click.Group):
    """Loads a verb when it is asked for: recording must not wait for the libraries that draw figures."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        room = "rlscope.cli.running" if cmd_name in RUNNING else "rlscope.cli"
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = getattr(import_module(f"{room}.{name}"), name)
        return command


@click.group(cls=_Verbs, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rlscope")
@click.pass_context
def verbs(context: click.Context) -> None:
    """Where does my RL training time go?

    \b
    rlscope record -o trace -- python train.py
    rlscope analyze trace
    rlscope report trace -o report
    """
    if context.invoked_subcommand is None:
        click.echo(FIRST_STEPS)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. An error is one line without a traceback.

    The exit status is 2 where the request or the trace is wrong, 1 where the system refuses something, 128 and the
    signal's number where one ended it.
    """
    _prepare_files()
    try:
        status = verbs.main(arguments, prog_name="rlscope", standalone_mode=False)
        sys.stdout.flush()
    except RLScopeError as error:
        status = _said(str(error), error.status)
    except click.ClickException as error:
        status = _said(" ".join(error.format_message().split()), 2)
    except click.exceptions.Abort:
        status = 128 + signal.SIGINT
    except BrokenPipeError:
        status = READER_IS_GONE
    except OSError as error:
        status = _said(_what_was_refused(error), 1)
    except SystemExit as ended:
        status = READER_IS_GONE if ended.code == 1 else ended.code  # as click and rich say that the reader has gone
    _give_up_output()
    sys.exit(status if isinstance(status, int) else 0)


def _prepare_files() -> None:
    """Make Ctrl-C an exception, let names have characters that the locale lacks, and let closed files lead
    nowhere.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as rlscope.cli.start leaves it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("stdout", "stderr"):
        file = getattr(sys, name)
        if file is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        elif isinstance(file, TextIOWrapper):
            file.reconfigure(errors="backslashreplace")


def _said(message: str, status: int) -> int:
    with suppress(OSError):
        click.echo(f"rlscope: error: {printable(message)}", err=True)
    return status


def _what_was_refused(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename is None:
        try:
            os.getcwd()
        except OSError:
            return "the working directory is gone; change into one that is there"
        return f"the output could not be written: {reason}; write it elsewhere"
    return f"{os.fsdecode(error.filename)}: {reason}; make that possible, or choose another place"


def _give_up_output() -> None:
    """Drop what could not be written: trying it again when Python ends would be another error."""
    for file in (sys.stdout, sys.stderr):
        try:
            file.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
