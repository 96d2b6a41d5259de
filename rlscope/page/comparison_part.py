"""This file shows on a page what changed between runs: the verdict, and parts that differ as bars with intervals."""

from collections.abc import Sequence

from rlscope.analysis.account.account import public_name
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.sweep import TraceSweep
from rlscope.compare.comparable import cautions, sides_of
from rlscope.compare.comparison import Comparison, Row, compare
from rlscope.compare.counts import CountRow
from rlscope.compare.differences import Difference
from rlscope.compare.gate import Gate
from rlscope.compare.recorded import times_of
from rlscope.compare.verdict import (
    Shown,
    changed_counts,
    findings_sentences,
    part_name,
    sentences,
    tables,
    verdict,
)
from rlscope.errors import UsageError
from rlscope.page.assemble import PLAIN_MODULES, document, script
from rlscope.page.bars import BAR
from rlscope.text import as_html
from rlscope.text.numbers import digits


def comparison_page(comparisons: Sequence[Comparison], gate: Gate) -> str:
    """Return a page of its own with comparisons of one base."""
    names = [comparisons[0].base.name, *(each.other.name for each in comparisons)]
    main = "".join(comparison_part(each, gate) for each in comparisons)
    title = f"RL-Scope: {' and '.join(names)}"
    return document(title, '<span id="buttons"></span>', main, "", script(PLAIN_MODULES))


def compared(traces: Sequence[tuple[str, TraceSweep, Analysis]]) -> str:
    """Compare the first trace with each other one, or say why that cannot be done."""
    try:
        base, *others = sides_of({name: [times_of(swept, analysis)] for name, swept, analysis in traces})
    except UsageError as error:
        return f"<section><h2>Compare</h2><p>{as_html(f'The traces are not compared: {error}.')}</p></section>"
    return "".join(comparison_part(compare(base, other), Gate()) for other in others)


def comparison_part(comparison: Comparison, gate: Gate) -> str:
    """Show a comparison, and what a gate says."""
    base, other = comparison.base.name, comparison.other.name
    parts = [f"<h2>{as_html(f'Compare: {other} with {base}')}</h2>"]
    parts.append(f"<p><strong>{as_html(verdict(comparison))}</strong></p>")
    parts += [f"<p>{as_html(said)}</p>" for said in gate.sentences(comparison)]
    parts += [f'<p class="warning">{as_html(f"{each[0].upper()}{each[1:]}.")}</p>' for each in cautions(comparison)]
    if counts := changed_counts(comparison):
        parts.append(_count_table(counts, comparison))
    parts += [_table(each, base, other) for each in tables(comparison)]
    parts += [f"<p>{as_html(said)}</p>" for said in (*findings_sentences(comparison), *sentences(comparison))]
    return f"<section>{''.join(parts)}</section>"


def _table(shown: Shown, base: str, other: str) -> str:
    heads = ["part", base, other, "change", "interval"]
    ends = [end * shown.factor for row in shown.rows for end in _ends(row.difference)]
    scale = min(0.0, *ends), max(0.0, *ends)
    axis = " to ".join(_signed(end) for end in scale)  # from the left end of the bars to the right one
    return _of_rows(shown.title, [*heads, axis], "".join(_row(row, shown.factor, scale) for row in shown.rows))


def _of_rows(title: str, heads: Sequence[str], rows: str) -> str:
    head = "".join(f"<th{_kind(place)}>{as_html(text)}</th>" for place, text in enumerate(heads))
    return (
        f"<div class='scroll'><table><caption>{as_html(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _count_table(counts: Sequence[CountRow], comparison: Comparison) -> str:
    rows = ""
    for row in counts:
        count = row.count
        place = count.counted.value, count.stage, public_name(count.name)
        name = " / ".join(dict.fromkeys(filter(None, place)))
        cells = [name, *map(digits, row.means), _signed(row.means[1] - row.means[0])]
        rows += f"<tr>{''.join(f'<td{_kind(place)}>{as_html(cell)}</td>' for place, cell in enumerate(cells))}</tr>"
    title = f"What is counted per {comparison.base.unit.value}"
    return _of_rows(title, ["counted", comparison.base.name, comparison.other.name, "change"], rows)


def _row(row: Row, factor: float, scale: tuple[float, float]) -> str:
    found = row.difference
    value, low, high = (_signed(end * factor) for end in _ends(found))
    interval = f"{low} to {high}{'' if found.is_sure else ', not sure'}" if found.has_interval else "not known"
    cells = [part_name(row.part), digits(found.base * factor), digits(found.other * factor), value, interval]
    shown = "".join(f"<td{_kind(place)}>{as_html(cell)}</td>" for place, cell in enumerate(cells))
    return f"<tr>{shown}<td>{_bar(found, factor, scale)}</td></tr>"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{digits(value)}"


def _kind(place: int) -> str:
    return " class='number'" if place else ""


def _ends(found: Difference) -> tuple[float, ...]:
    """Return the value and the ends of its interval, which are the value where there is none."""
    return found.value, *(found.value if end is None else end for end in (found.low, found.high))


def _bar(found: Difference, factor: float, scale: tuple[float, float]) -> str:
    """Draw the difference as a bar from zero, and its interval as a line over it."""
    least, most = scale
    zero, value, low, high = (BAR * (end * factor - least) / ((most - least) or 1.0) for end in (0.0, *_ends(found)))
    colour = "unsure" if not found.is_sure else "more" if found.value > 0 else "less"
    bar = f'<rect class="fill-{colour}" x="{min(zero, value):.1f}" y="3" width="{abs(value - zero):.1f}" height="12"/>'
    line = f'<rect class="interval" x="{low:.1f}" y="8" width="{max(high - low, 1.0):.1f}" height="2"/>'
    axis = f'<rect class="interval" x="{zero:.1f}" y="0" width="1" height="18"/>'
    box = f'viewBox="0 0 {BAR} 18" preserveAspectRatio="none"'
    return f'<svg class="bar" {box} aria-hidden="true">{bar}{line}{axis}</svg>'
