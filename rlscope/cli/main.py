"""The command `rlscope VERB`: one error style and one exit status for what a user can cause."""

import sys
from collections.abc import Callable
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from rlscope.errors import RLScopeError
from rlscope.text import printable
from rlscope.version import __version__

#: In the order of use. Each verb is a command of that name in rlscope/cli/NAME.py.
VERBS = ("calibrate", "record", "inspect", "analyze", "report", "plot", "doctor")


class _Verbs(click.Group):
    """Loads a verb when it is asked for: recording must not wait for the libraries that draw figures."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"rlscope.cli.{cmd_name}"), cmd_name)
        return command


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rlscope")
def verbs() -> None:
    """Where does my RL training time go?

    \b
    rlscope record -o trace -- python train.py
    rlscope analyze trace
    rlscope report trace -o report
    """


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line; user errors are one line and exit status 2, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name may have characters that the locale lacks
    try:
        status = verbs.main(arguments, prog_name="rlscope", standalone_mode=False)
    except RLScopeError as error:
        _fail(str(error))
    except click.ClickException as error:
        _fail(" ".join(error.format_message().split()))
    except click.exceptions.Abort:
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone, as `| head` does.
        sys.stderr.close()
        sys.exit(141)
    else:
        sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str) -> None:
    click.echo(f"rlscope: error: {printable(message)}", err=True)
    sys.exit(2)


def _alias(verb: str) -> Callable[[], Any]:
    return lambda: main([verb, *sys.argv[1:]])


# The names of 2021.
rls_prof = _alias("record")
rls_analyze = _alias("analyze")
rls_calibrate = _alias("calibrate")
rls_plot = _alias("plot")
