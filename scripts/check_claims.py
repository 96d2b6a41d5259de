"""Check the claims that studies have judged: an error where one differs that held before, or was run as published."""

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from experiments.command_line import ARTIFACTS
from experiments.verdicts.checks import differences
from rlscope.errors import RLScopeError


def main() -> int:
    """Parse the arguments, and say what differs: the exit status is 1 then, and 2 on an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    said = f"results of one study or of all (default: {ARTIFACTS})"
    parser.add_argument("output", type=Path, nargs="?", default=ARTIFACTS, metavar="DIR", help=said)
    try:
        found = differences(parser.parse_args().output)
    except RLScopeError as error:
        print(f"rlscope: error: {error}", file=sys.stderr)
        return 2
    for sentence in found:
        print(f"rlscope: {sentence}", file=sys.stderr)
    if not found:
        print("no claim differs that held before, or that was run as published")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
