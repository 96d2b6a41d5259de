"""The command `rlscope VERB`: one error style and one exit status for what a user can cause."""

import sys

import click

from rlscope.cli.analyze import analyze
from rlscope.cli.doctor import doctor
from rlscope.cli.inspect import inspect
from rlscope.cli.plot import plot
from rlscope.cli.record import record
from rlscope.cli.report import report
from rlscope.errors import RLScopeError
from rlscope.version import __version__


class _Verbs(click.Group):
    """Turns errors into one line and exit status 2, without a traceback."""

    def main(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        return _run(super().main, *args, **kwargs)


class _Verb(click.Command):
    """A verb under a name of its own, with the same errors."""

    def main(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        return _run(super().main, *args, **kwargs)


def _run(main, *args, **kwargs):  # type: ignore[no-untyped-def]
    kwargs["standalone_mode"] = False
    try:
        status = main(*args, **kwargs)
    except RLScopeError as error:
        _fail(str(error))
    except click.ClickException as error:
        _fail(error.format_message().replace("\n", " "))
    except click.exceptions.Abort:
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone, as `| head` does.
        sys.stderr.close()
        sys.exit(141)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str) -> None:
    click.echo(f"rlscope: error: {message}", err=True)
    sys.exit(2)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rlscope")
def main() -> None:
    """Where does my RL training time go?

    \b
    rlscope record -o trace -- python train.py
    rlscope analyze trace
    rlscope report trace -o report
    """


for verb in (record, inspect, analyze, report, plot, doctor):
    main.add_command(verb)


def _alias(verb: click.Command) -> click.Command:
    return _Verb(name=verb.name, callback=verb.callback, params=verb.params, help=verb.help, context_settings=verb.context_settings)


rls_prof = _alias(record)
rls_analyze = _alias(analyze)
rls_plot = _alias(plot)
