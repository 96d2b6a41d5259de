"""A case study as a command."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments import CHECKOUT
from experiments.case_study import BUDGETS
from experiments.claims import DIFFERS, Verdict
from rlscope.errors import RLScopeError, UsageError

ARTIFACTS = CHECKOUT / "output" / "artifacts"


@dataclass(frozen=True)
class Outcome:
    """What a study ends with: its verdicts, and what could not be run and why."""

    verdicts: Sequence[Verdict]
    missing: Sequence[str] = ()


def command_line(description: str | None, output: Path, run: Callable[[str, Path], Outcome]) -> int:
    """Parse the arguments that all studies have, run, and turn the verdicts into an exit status.

    Args:
        description: for the help.
        output: where results go unless --output says otherwise.
        run: from a budget and a directory to what came out.

    Returns:
        0; 1 where the published schedule contradicts a claim; 2 on an error; 3 where something is missing.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", choices=BUDGETS, default="quick", help="how much to run (default: quick)")
    parser.add_argument("--output", type=Path, default=output, metavar="DIR", help=f"default: {output}")
    arguments = parser.parse_args()
    try:
        check_writable(arguments.output)
        outcome = run(arguments.budget, arguments.output.resolve())
    except RLScopeError as error:
        print(f"rlscope: error: {error}", file=sys.stderr)
        return 2
    for sentence in outcome.missing:
        print(f"rlscope: {sentence}", file=sys.stderr)
    print(f"wrote {arguments.output / 'index.html'}")
    if outcome.missing:
        return 3
    return int(any(verdict.verdict == DIFFERS and not verdict.provisional for verdict in outcome.verdicts))


def check_writable(directory: Path) -> None:
    """Make the directory of the results; that they cannot be written is better found before the first run."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        raise UsageError(
            f"expected to write to {directory}, found: {error.strerror}. "
            "Choose another --output, or change its permissions"
        ) from error
