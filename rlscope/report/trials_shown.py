"""Print what trials of changes found."""

from collections.abc import Iterable

import click

from rlscope.analysis.rows import Record
from rlscope.report.screen import Screen
from rlscope.report.tables import table_lines
from rlscope.text.numbers import digits, digits_ends, duration
from rlscope.trial.document import Factor, Tried, TryDocument
from rlscope.trial.one_trial import Part, unit_text

#: More names of files are not read.
FILES_SHOWN = 10


def print_trials(document: TryDocument) -> None:
    """Print the table of changes, and what each of them alters."""
    click.echo("\n".join(trial_lines(document, Screen.of_stdout())))


def trial_text(tried: Tried) -> str:
    """Say in a line what is known of a change."""
    factor = f", {_factor_text(tried.factor)} times as fast" if tried.factor is not None else ""
    return f"{_name(tried)}: {tried.verdict.value}{factor}{f', {tried.why}' if tried.why else ''}"


def trial_lines(document: TryDocument, screen: Screen) -> list[str]:
    """Return the lines of a document."""
    measured = document.measured
    took = ""
    if measured.processor_s is not None and measured.wall_s is not None:
        took = f", {duration(measured.processor_s)} of processor time, {duration(measured.wall_s)} of the wall"
    processes = f"{measured.processes} process{'es' if measured.processes != 1 else ''}"
    part = unit_text(Part(measured.unit, measured.begin, measured.end))
    lines = screen.filled(f"Measured: {part}{took}, {processes}.")
    if not document.tried:
        return [*lines, *screen.filled(_without_any(document))]
    rows = [_record(each) for each in document.tried]
    lines += ["", *table_lines("How many times as fast with a change", rows, screen)]
    for each in document.tried:
        lines += ["", *screen.filled(f"{_name(each)}: {_sentence(each)}")]
    if not document.is_complete:
        lines += ["", *screen.filled("Not all is known: more --minutes would tell.")]
    if document.overwritten:
        some = ", ".join(document.overwritten[:FILES_SHOWN])
        rest = len(document.overwritten) - FILES_SHOWN
        lines += ["", *screen.filled(f"A run would have overwritten {some}{f' and {rest} more' if rest > 0 else ''}.")]
    return lines


def _without_any(document: TryDocument) -> str:
    if document.is_complete:
        return "No change has anything to alter in this program: `rlscope try --list` says what each one does."
    return "It was ended before a change was tried."


def _record(tried: Tried) -> Record:
    return {
        "change": _name(tried),
        "times_as_fast": _factor_text(tried.factor) if tried.factor is not None else "",
        "of": tried.clock.value if tried.factor is not None else "",
        "pairs": tried.pairs,
        "verdict": tried.verdict.value,
        "numbers": tried.numbers.kind.value if tried.numbers is not None else "",
    }


def _sentence(tried: Tried) -> str:
    """Say what the table has no room for."""
    if tried.why:
        return f"{tried.verdict.value}: {tried.why}."
    said = [f"alters {tried.alters}"]
    if tried.numbers is not None:
        said.append(f"numbers: {tried.numbers.text}")
    if tried.keep:
        said.append(f"to keep it: {_listed(tried.keep)}")
    return ". ".join(f"{part[0].upper()}{part[1:]}" for part in said) + "."


def _listed(lines: Iterable[str]) -> str:
    return "; ".join(lines)


def _name(tried: Tried) -> str:
    name = " + ".join(tried.changes)
    return f"{name} (with {' + '.join(tried.on_top_of)})" if tried.on_top_of else name


def _factor_text(factor: Factor) -> str:
    if factor.low is None or factor.high is None:
        return digits(factor.value)
    return f"{digits(factor.value)} {digits_ends(factor.low, factor.high)}"
