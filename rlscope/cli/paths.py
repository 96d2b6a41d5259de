"""The type of options and arguments that name a file or a directory."""

from pathlib import Path
from typing import Any

import click


class NamedPath(click.Path):
    """A path that is not empty, as an unset variable of a shell is, which would mean the working directory."""

    def __init__(self, dir_okay: bool = True) -> None:
        super().__init__(dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if not value:
            self.fail("a path was expected, but it is empty; . is the working directory", param, ctx)
        return super().convert(value, param, ctx)
