"""This file says on the page what bounds the run and what to try: a sentence, bars, and what is not known."""

from collections.abc import Mapping, Sequence
from typing import Any

from rlscope.analysis.account.kinds import Bound
from rlscope.analysis.account.owner_path import SAID
from rlscope.page.bars import bar
from rlscope.text import as_html
from rlscope.text.numbers import digits, duration, percent

#: Of the path; a smaller cause is left to the tables.
LEAST_SHARE = 0.01


def advice_part(advice: Mapping[str, Any]) -> str:
    """Show the advice of the JSON document."""
    said = advice["sentences"]
    parts = [f"<p><strong>{as_html(said['causes'][0])}</strong></p>", causes(advice)]
    parts.append(listed([*said["lines"], *said["waits"], *said["memory"]]))
    worth_trying = [change for change in advice["changes"] if change["saving_s"] >= SAID * advice["total_s"]]
    parts.append(changes(worth_trying) if worth_trying else listed(said["changes"]))
    if said["limits"]:
        parts.append(f"<details><summary>What this does not know</summary>{listed(said['limits'])}</details>")
    return "".join(parts)


def causes(advice: Mapping[str, Any]) -> str:
    """Show how long each cause bound the run."""
    rows = "".join(
        f"<tr><td>{as_html(Bound(each['cause']).words)}</td><td class='number'>{duration(each['seconds'])}</td>"
        f"<td class='number'>{percent(each['share'])}</td>"
        f"<td>{bar(each['share'], Bound(each['cause']).colour)}</td></tr>"
        for each in advice["causes"]
        if each["share"] >= LEAST_SHARE
    )
    caption = f"What bound {duration(advice['total_s'])} of {advice['process']}"
    return f"<table><caption>{as_html(caption)}</caption><tbody>{rows}</tbody></table>"


def changes(found: Sequence[Mapping[str, Any]]) -> str:
    """Show what each change could save at most."""
    most = found[0]["saving_s"]
    rows = "".join(
        f"<tr><td>{as_html(each['name'])}</td><td class='number'>{duration(each['saving_s'])} less</td>"
        f"<td>{factor(each['speedup'])}</td><td>{bar(each['saving_s'] / most, 'saving')}</td>"
        f"<td>if {as_html(each['assumption'])}</td></tr>"
        for each in found
    )
    return f"<table><caption>Worth trying, at most</caption><tbody>{rows}</tbody></table>"


def factor(speedup: float | None) -> str:
    """Say how many times as fast the run would be; None where nothing would be left of it."""
    return "all of it" if speedup is None else f"{digits(speedup)} times as fast"


def listed(sentences: Sequence[str]) -> str:
    """Return the sentences as a list; nothing where there are none."""
    items = "".join(f"<li>{as_html(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""
