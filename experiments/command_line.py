"""A case study as a command."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments import CHECKOUT
from experiments.case_study import BUDGETS
from experiments.claims import DIFFERS, Verdict
from rlscope.errors import RLScopeError

ARTIFACTS = CHECKOUT / "output" / "artifacts"


def command_line(description: str | None, output: Path, run: Callable[[str, Path], Sequence[Verdict]]) -> int:
    """Parse the arguments that all studies have, run, and turn the verdicts into an exit status.

    Args:
        description: for the help.
        output: where results go unless --output says otherwise.
        run: from a budget and a directory to verdicts.

    Returns:
        0; 1 where the published schedule contradicts a claim; 2 on an error.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", choices=BUDGETS, default="quick", help="how much to run (default: quick)")
    parser.add_argument("--output", type=Path, default=output, metavar="DIR", help=f"default: {output}")
    arguments = parser.parse_args()
    try:
        verdicts = run(arguments.budget, arguments.output.resolve())
    except RLScopeError as error:
        print(f"rlscope: error: {error}", file=sys.stderr)
        return 2
    print(f"wrote {arguments.output / 'index.html'}")
    return int(any(verdict.verdict == DIFFERS and not verdict.provisional for verdict in verdicts))
