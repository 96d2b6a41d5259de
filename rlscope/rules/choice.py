"""This file says which rules a user wants to hear: options of a verb, and `[tool.rlscope]` of a pyproject.toml."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.rows import Rows
from rlscope.errors import UsageError
from rlscope.rules.finding import FindingRow
from rlscope.rules.rule import rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEYS = ("select", "ignore")


class Choice(NamedTuple):
    """The rules of which findings are shown: codes, or how they begin, such as `RLS2`.

    Attributes:
        select: Only these; all where it is empty.
        ignore: All but these.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def has(self, code: str) -> bool:
        """Return whether findings of this rule are shown."""
        return (not self.select or code.startswith(self.select)) and not code.startswith(self.ignore)

    def of(self, analysis: Analysis) -> Analysis:
        """Return the analysis with the findings of these rules alone."""
        return analysis.replaced(findings=Rows(FindingRow, (row for row in analysis.findings if self.has(row.code))))


def choice(select: str | None, ignore: str | None, directory: Path | None = None) -> Choice:
    """Return which rules a user wants to hear: an option counts in the place of the same key of the file.

    Args:
        select: Codes, separated by commas; None if the option was not given.
        ignore: The same.
        directory: Where the nearest pyproject.toml is looked for, from there upward; the working directory unless
            given.

    Raises:
        UsageError: A code is of no rule, or the file is not as expected.
    """
    file, found = _settings(directory or Path.cwd())
    given = {"select": select, "ignore": ignore}
    codes = {}
    for key, option in given.items():
        if option is not None:
            codes[key] = codes_in(option, f"--{key}")
        else:
            codes[key] = _checked(key, found.get(key, ()), f"{file}, [tool.rlscope]")
    return Choice(**codes)


def codes_in(text: str, where: str) -> tuple[str, ...]:
    """Return the codes of a list such as `RLS1,RLS301`, which stands in an option or a file.

    Raises:
        UsageError: One is not that of a rule, nor how some begin.
    """
    return _known([code.strip() for code in text.split(",") if code.strip()], where)


def _known(codes: Iterable[str], where: str) -> tuple[str, ...]:
    found = tuple(codes)
    for code in found:
        if not any(rule.code.startswith(code) for rule in rules()):
            raise UsageError(
                f"{where}: a rule's code such as RLS202, or how some begin such as RLS2, was expected, found {code!r}; "
                "`rlscope explain` lists all rules"
            )
    return found


def _checked(key: str, value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(code, str) for code in value):
        raise UsageError(f'{where}: a list of codes such as {key} = ["RLS104"] was expected, found {value!r}')
    return _known(value, where)


def _settings(directory: Path) -> tuple[Path | None, dict[str, Any]]:
    """Return the nearest pyproject.toml that has a part for rlscope, and that part."""
    for folder in (directory, *directory.parents):
        file = folder / "pyproject.toml"
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{file}: TOML was expected, found something else: {error}") from error
        tool = document.get("tool")
        part = tool.get("rlscope") if isinstance(tool, dict) else None
        if isinstance(part, dict):
            unknown = sorted(part.keys() - set(_KEYS))
            if unknown:
                raise UsageError(
                    f"{file}, [tool.rlscope]: {' and '.join(_KEYS)} were expected, found {', '.join(unknown)}"
                )
            return file, part
    return None, {}
