"""The verb `bench` runs commands repeatedly and in turns, recorded or only timed, and compares them."""

import errno
import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase

import click

from rlscope.cli.given.options import NamedPath
from rlscope.cli.given.traces import names
from rlscope.cli.progress import progress_bar
from rlscope.errors import UsageError
from rlscope.record.config import TRACE_VARIABLE
from rlscope.signals import held_signals
from rlscope.text import printable

SHELL = "/bin/sh"
WORDS = "words"


class _Commands(click.Command):
    """Takes what stands behind `--` as the words of one command; each argument before it is a command in quotes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        place = args.index("--") if "--" in args else len(args)
        ctx.meta[WORDS] = tuple(args[place + 1 :])
        return super().parse_args(ctx, args[:place])


@click.command(cls=_Commands)
@click.option("-n", "--runs", type=click.IntRange(min=1), default=5, show_default=True, help="Runs of each command.")
@click.option(
    "-w",
    "--warmup",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Runs of each before them, which do not count.",
)
@click.option(
    "-o",
    "--output",
    type=NamedPath(),
    default=Path("bench"),
    show_default=True,
    help="A new folder for the runs; of several commands they go into folders A, B and so on in it.",
)
@click.option("--force", is_flag=True, help="Replace the runs of an earlier bench that are in the folder.")
@click.option("--time", "is_timed", is_flag=True, help="Only time the commands, without recording where time goes.")
@click.argument("commands", metavar="['COMMAND'...] [-- COMMAND]", nargs=-1)
@click.pass_context
def bench(
    context: click.Context,
    runs: int,
    warmup: int,
    output: Path,
    force: bool,
    is_timed: bool,
    commands: tuple[str, ...],
) -> None:
    """Run commands N times each, in turns, and compare them; of one command, show how far its runs scatter.

    A command in quotes is given to the shell. What stands behind -- is one command as it is.

    \b
    Examples:
      rlscope bench -n 5 -- python train.py
      rlscope bench -n 5 -o runs 'python train.py' 'python train.py --compile'
      rlscope bench -n 5 -o runs 'cd base && python train.py' 'cd head && python train.py'
    """
    given: list[tuple[tuple[str, ...], str]] = [((SHELL, "-c", text), text) for text in _checked(commands)]
    words: tuple[str, ...] = context.meta[WORDS]
    if words:
        given.append((words, shlex.join(words)))
    _check(given, output, force)
    # With numpy and scipy, for which `rlscope --help` need not wait.
    from rlscope.bench.folder import remove_bench
    from rlscope.bench.turns import Command, in_turns
    from rlscope.compare.comparable import sides_of
    from rlscope.compare.comparison import compare
    from rlscope.compare.folders import open_runs, read_runs
    from rlscope.compare.gate import Gate
    from rlscope.report.comparison_shown import print_comparison, print_side

    folders = [output] if len(given) == 1 else [output / letter for letter in ascii_uppercase[: len(given)]]
    repeated = [Command(text, each, folder) for (each, text), folder in zip(given, folders, strict=True)]
    if output.exists():
        remove_bench(output)
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    with held_signals() as mask, progress_bar("running", (runs + warmup) * len(given)) as done:
        in_turns(repeated, runs, warmup, not is_timed, mask, done)
    read = {name: read_runs(open_runs(folder)) for name, folder in zip(names(folders), folders, strict=True)}
    base, *others = sides_of(read)
    for command in repeated:
        click.echo(f"{command.folder}: {printable(command.shown)}")
    print_side(base)
    for other in others:
        click.echo()
        print_comparison(compare(base, other), Gate())


def _checked(commands: Sequence[str]) -> Sequence[str]:
    """Return the commands in quotes; refuse the words of one command without quotes.

    Raises:
        UsageError: one is empty, or a single word that is no program.
    """
    for text in commands:
        if not text.strip() or (" " not in text and shutil.which(text) is None):
            raise UsageError(
                f"each argument is a whole command in quotes, but {text!r} is none; write -- before the words of one "
                "command: rlscope bench -n 5 -- python train.py"
            )
    return commands


def _check(given: Sequence[tuple[Sequence[str], str]], output: Path, is_forced: bool) -> None:
    """Refuse what cannot be run before a folder is made.

    Raises:
        UsageError: there is no command, or too many, or no folder to keep runs in.
    """
    if not given:
        raise UsageError("a command to run was expected, but none was given: rlscope bench -n 5 -- COMMAND")
    if len(given) > len(ascii_uppercase):
        raise UsageError(f"at most {len(ascii_uppercase)} commands were expected, but {len(given)} were given")
    for words, shown in given:
        if shutil.which(words[0]) is None:
            raise UsageError(
                f"cannot run {shown}: {os.strerror(errno.ENOENT)}; give a command that the shell would find"
            )
    if TRACE_VARIABLE in os.environ:
        raise UsageError("this runs inside `rlscope record`, which would record all runs as one; run it outside")
    if output.is_symlink() and is_forced:
        raise UsageError(f"{output} is a link, and --force follows none; give the folder that it leads to")
    if output.exists() and (not output.is_dir() or (any(output.iterdir()) and not is_forced)):
        raise UsageError(
            f"a new or empty folder was expected at {output}, but it holds something; choose another -o, or replace an "
            "earlier bench, also one that was ended, with --force"
        )
