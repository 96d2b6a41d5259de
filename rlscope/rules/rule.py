"""This file knows all rules, and applies them to a run: what they find, the largest first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from rlscope.analysis.rows import Rows
from rlscope.analysis.run import Run
from rlscope.analysis.run_tables import RunTables
from rlscope.errors import UsageError
from rlscope.forecast.change import change_of
from rlscope.forecast.forecast import forecast_of
from rlscope.rules.evidence import LEAST_SHARE, Evidence
from rlscope.rules.finding import FindingRow, Found
from rlscope.text import printable
from rlscope.text.numbers import digits, digits_ends

#: Time that other findings say more of, but for such a part of it, needs no general one.
_NEARLY_ALL = 0.9
#: A rule's file: its code and its name.
_FILE = re.compile(r"(RLS\d{3})_(\w+)\.py")


class Rule(NamedTuple):
    """A rule: a file of this folder, whose docstring is its page.

    Attributes:
        code: `RLS202`: the first digit says of what kind it is.
        name: `deepcopy`.
        page: What it says of itself, in Markdown; the first line is what to do.
        find: Looks for it in a run.
        is_general: Whether another rule that finds the same lines says more.
        unless: The codes of rules that say more, if only these do.
        is_of_learning: Whether the change alters what is learned from how many timesteps.
        is_of_machine: Whether nothing in the program changes it.
        trial: Name of the change of `rlscope try` that tries what the rule says; empty if none does.
    """

    code: str
    name: str
    page: str
    find: Callable[[Evidence], Iterable[Found]]
    is_general: bool
    unless: tuple[str, ...]
    is_of_learning: bool
    is_of_machine: bool
    trial: str

    @property
    def order(self) -> int:
        """Return how sure its changes are: what is known to be slow has 0, and comes first."""
        return 2 if self.is_of_machine else int(self.is_general or self.is_of_learning)

    def says_less_than(self, code: str) -> bool:
        """Return whether another rule that finds the same lines says more."""
        return self.is_general or code in self.unless

    @property
    def title(self) -> str:
        """Return what to do, in one line."""
        return self.page.partition("\n")[0].rstrip(".")


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules in the order of their codes."""
    found = []
    for file in sorted(Path(__file__).parent.iterdir()):
        match = _FILE.fullmatch(file.name)
        if match:
            module = import_module(f"rlscope.rules.{file.stem}")
            name, page = match[2].replace("_", "-"), module.__doc__ or ""
            general, learning, machine = (
                getattr(module, each, False) for each in ("IS_GENERAL", "IS_OF_LEARNING", "IS_OF_MACHINE")
            )
            trial = getattr(module, "TRIAL", "")
            unless = getattr(module, "UNLESS", ())
            found.append(Rule(match[1], name, page, module.find, general, unless, learning, machine, trial))
    return tuple(found)


def finding_rows(run: Run, tables: RunTables) -> Rows[FindingRow]:
    """Make the rows of `Analysis.findings`: what is most sure first, of that what is about most time.

    What alters learning, and what is said of any function, comes behind what is known to be slow, the machine last.
    """
    evidence = Evidence(run, tables)
    found = [(rule, each) for rule in rules() for each in rule.find(evidence) if _is_worth_it(each, evidence)]
    said = [(other.code, each) for other, each in found if not other.is_general]
    found = [
        (rule, each)
        for rule, each in found
        if not _is_said(each, (more for code, more in said if rule.says_less_than(code)))
    ]
    found.sort(key=lambda pair: (pair[0].order, -(pair[1].seconds or 0.0)))
    return Rows(FindingRow, (_row(rule, each, evidence) for rule, each in found))


def _is_worth_it(found: Found, evidence: Evidence) -> bool:
    return found.seconds is None or found.seconds >= LEAST_SHARE * evidence.training_s > 0


def _is_said(general: Found, said: Iterable[Found]) -> bool:
    """Return whether other findings say of nearly as much time of the same function what to do."""
    same = [each.seconds or 0.0 for each in said if each.place.line and each.place[:2] == general.place[:2]]
    return bool(same) and sum(same) >= _NEARLY_ALL * (general.seconds or 0.0)


def _row(rule: Rule, found: Found, evidence: Evidence) -> FindingRow:
    share = None if found.seconds is None else min(found.seconds / evidence.training_s, 1.0)
    return FindingRow(
        rule.code, rule.name, printable(found.change), found.seconds, share,
        *_forecast(found.forecast, evidence.tables), *found.place, found.evidence, rule.trial,
    )  # fmt: skip


def _forecast(change: str, tables: RunTables) -> tuple[str, float | None, float | None, float | None, str]:
    """Return a change with its factor, the interval and the clock; none of these where the run does not tell them."""
    if change:
        with suppress(UsageError):
            row = forecast_of(tables, change_of(change))
            return change, row.factor, row.low, row.high, row.clock
    return "", None, None, None, ""


def finding_text(row: FindingRow) -> str:
    """Say what to do, with the rule's code before it; behind it what that brings by a forecast, and how it is tried."""
    brings = ""
    if row.forecast_factor is not None and row.forecast_low is not None and row.forecast_high is not None:
        times = f"{digits(row.forecast_factor)} times as fast {digits_ends(row.forecast_low, row.forecast_high)}"
        brings = f"; {change_of(row.forecast).words}: {times} in {row.forecast_clock}"
    trial = f"; try it: rlscope try --changes {row.trial}" if row.trial else ""
    return f"{row.code} {row.change}{brings}{trial}"
