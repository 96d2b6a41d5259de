"""This file is `rls-unit-tests`, which runs the tests of rlscope itself from its checkout."""

import subprocess
import sys
from pathlib import Path

import click

COMMANDS = {
    # The command of this environment, not `python -m pytest`: that would import the checkout's package.
    "py": [str(Path(sys.executable).with_name("pytest"))],
    "cpp": ["make", "test-cpp"],
}


@click.command(epilog="Example: rls-unit-tests --tests cpp")
@click.option("--tests", type=click.Choice([*COMMANDS, "all"]), default="all", show_default=True)
def main(tests: str) -> None:
    """Run the Python tests, the C++ tests, or both. Ends with the status of the first that fails."""
    checkout = Path.cwd()
    if not (checkout / "tests" / "unit").is_dir() or not (checkout / "Makefile").is_file():
        click.echo(
            f"rlscope: error: expected the checkout of rlscope, with tests/ and Makefile, found {checkout}. "
            "Change to the checkout and run it again",
            err=True,
        )
        sys.exit(2)
    for name in COMMANDS if tests == "all" else [tests]:
        status = subprocess.run(COMMANDS[name], cwd=checkout, check=False).returncode
        if status != 0:
            sys.exit(status)
