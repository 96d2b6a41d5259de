"""The part of the page that needs no script: what bounds the run, warnings, the breakdown and the processes as tables."""

from collections.abc import Sequence
from typing import Any

from rlscope.plots.page import escape

BAR = 300


def static_part(trace: dict[str, Any], warnings: Sequence[str], commands: Sequence[str]) -> str:
    """HTML of one trace of the header."""
    document = trace["document"]
    advice = document["advice"]
    facts = [f"{trace['length_s']:.4g} s", counted(len(trace["processes"]), "process", "processes")]
    if document["iterations"]:
        facts.append(counted(document["iterations"], "iteration", "iterations"))
    parts = [f"<p>{escape(', '.join(facts))}</p>"]
    parts += [f'<p class="warning">{escape(warning)}</p>' for warning in warnings]
    if advice is not None:
        parts.append(f"<p>{escape(advice['text'])}</p>{changes(advice['changes'])}")
    parts.append("<noscript>" + breakdown(document) + processes(document) + "</noscript>")
    parts.append(f"<footer><p>{'</p><p>'.join(escape(command) for command in commands)}</p></footer>")
    return "".join(parts)


def counted(number: int, one: str, several: str) -> str:
    """The number with its noun."""
    return f"{number:,} {one if number == 1 else several}"


def changes(found: Sequence[dict[str, Any]]) -> str:
    """What each change could save at most, as bars."""
    if not found:
        return ""
    most = max(change["saving_s"] for change in found) or 1
    rows = "".join(
        f"<tr><td>{escape(change['name'])}</td><td class='number'>{change['saving_s']:.3g} s</td>"
        f"<td>{bar(change['saving_s'] / most)}</td></tr>"
        for change in found
    )
    return f"<table><caption>What each change could save at most</caption><tbody>{rows}</tbody></table>"


def bar(share: float, colour: str = "backend") -> str:
    """A bar as long as the share, from 0 to 1."""
    return (
        f'<svg class="bar" viewBox="0 0 {BAR} 18" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="fill-{colour}" width="{share * BAR:.1f}" height="18"/></svg>'
    )


def breakdown(document: dict[str, Any]) -> str:
    """Seconds per stage and layer."""
    sums: dict[tuple[str, str], float] = {}
    for row in document["breakdown"]:
        key = row["stage"], row["category"]
        sums[key] = sums.get(key, 0.0) + row["seconds"]
    total = sum(sums.values()) or 1
    rows = "".join(
        f"<tr><td>{escape(stage)}</td><td>{escape(category)}</td><td class='number'>{seconds:.4g}</td>"
        f"<td class='number'>{100 * seconds / total:.1f} %</td><td>{bar(seconds / total, category)}</td></tr>"
        for (stage, category), seconds in sorted(sums.items(), key=lambda item: -item[1])
    )
    head = "<tr><th>stage</th><th>layer</th><th>seconds</th><th>share</th><th></th></tr>"
    return f"<table><caption>Where the time went</caption><thead>{head}</thead><tbody>{rows}</tbody></table>"


def processes(document: dict[str, Any]) -> str:
    """One row per process."""
    rows = "".join(
        f"<tr><td>{escape(row['process'])}</td><td>{escape(row['role'])}</td><td class='number'>{row['wall_s']:.4g}</td></tr>"
        for row in document["processes"]
    )
    head = "<tr><th>process</th><th>role</th><th>seconds</th></tr>"
    return f"<table><caption>Processes</caption><thead>{head}</thead><tbody>{rows}</tbody></table>"
