"""This file holds the options that several verbs take, and the types of those that name a file or a part of a run."""

import math
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from rlscope.calibration.calibration import AUTO
from rlscope.text import printable

correct_option = click.option(
    "--correct",
    metavar="auto|none|FILE",
    default=AUTO,
    show_default=True,
    help="Subtract what recording added: by the calibration that the trace was recorded with or your own, not at all, "
    "or by that of a FILE which `rlscope calibrate -o FILE` wrote.",
)


select_option = click.option(
    "--select",
    metavar="CODES",
    help="Show the findings of these rules only: codes such as RLS202, or how they begin, such as RLS2 "
    "(comma-separated); in the place of `select` in [tool.rlscope] of pyproject.toml.",
)
ignore_option = click.option(
    "--ignore", metavar="CODES", help="Show no findings of these rules; in the place of `ignore` there."
)
force_option = click.option("--force", is_flag=True, help="Replace what rlscope did not write.")

#: No run lasts for 30 years, and what lies in it can be counted in nanoseconds.
LONGEST_S = 1e9


class NamedPath(click.Path):
    """A path that is not empty, as an unset variable of a shell is, which would mean the working directory."""

    def __init__(self, dir_okay: bool = True, is_trace: bool = False) -> None:
        super().__init__(dir_okay=dir_okay, path_type=Path)
        self._is_trace = is_trace

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or fail where it is empty."""
        if not value:
            self.fail("a path was expected, but it is empty; . is the working directory", param, ctx)
        return super().convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Have the shell complete directories where a trace is meant, else files as well."""
        return [CompletionItem(incomplete, type="dir" if self._is_trace else "file")]


class Times(click.ParamType):  # type: ignore[type-arg]
    """Two times in seconds from the start of the run, the earlier first: `1.5:2`."""

    name = "A:B"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Return both times, or fail."""
        try:
            start, end = (float(part) for part in value.split(":"))
        except ValueError:
            start = end = math.nan
        if not 0 <= start < end <= LONGEST_S:
            self.fail(f"expected two times in seconds, such as 1.5:2, found {printable(value)!r}", param, ctx)
        return start, end


def complete_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Have the shell complete files, as behind `rlscope record -- python`."""
    return [CompletionItem(incomplete, type="file")]
