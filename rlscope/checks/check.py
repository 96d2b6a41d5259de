"""This file defines a line of a check of this machine, and prints lists of them."""

from collections.abc import Iterable
from dataclasses import dataclass

import click


@dataclass(frozen=True)
class Check:
    """One line of a report.

    Attributes:
        name: What was looked at.
        is_ready: Whether it is as recording needs it; None where it is only told.
        found: What was found.
        fix: What to do if it is not ready.
    """

    name: str
    is_ready: bool | None
    found: str
    fix: str = ""


def print_checks(checks: Iterable[Check]) -> None:
    """Print one line per check, and one more for what to do."""
    for check in checks:
        mark = {True: "ok  ", False: "FIX ", None: "note"}[check.is_ready]
        click.echo(f"{mark}  {check.name:<10} {check.found}")
        if check.is_ready is not True and check.fix:
            click.echo(f"      {'':<10} {check.fix}")


def exit_status(checks: Iterable[Check]) -> int:
    """Return 1 where something must be fixed."""
    return 1 if any(check.is_ready is False for check in checks) else 0
