"""What the page says of where the time went: bars of causes, changes, what stands out, and all else folded."""

import re
from typing import Any

from rlscope.page.account_part import account_part


def account(**changed: Any) -> dict[str, Any]:
    lines = [
        {"name": "simulation, <Simulator>", "seconds": 4.0, "share": 0.8, "where": "", "layer": "simulator"},
        {"name": "callbacks", "seconds": 1.0, "share": 0.2, "where": "a.py:7", "layer": ""},
    ]
    whole = {"title": "Where the time went", "lines": lines, "changes": [], "observations": [], "notes": []}
    return whole | changed


def rows(html: str) -> list[str]:
    return [" ".join(re.sub("<[^>]+>", " ", row).split()) for row in re.findall("<tr>(.*?)</tr>", html)]


def test_causes_are_rows_with_a_bar_in_the_colour_of_their_layer() -> None:
    html = account_part(account())
    assert rows(html) == ["simulation, &lt;Simulator&gt; 4 s 80 %", "callbacks 1 s 20 % a.py:7"]
    assert re.findall('class="fill-([a-z]+)" x="0.0" width="([0-9.]+)"', html) == [
        ("simulator", "240.0"), ("cause", "60.0"),
    ]  # fmt: skip
    assert "<li>" not in html and "<details>" not in html


def test_changes_and_observations_are_listed_and_notes_folded() -> None:
    html = account_part(account(changes=["log <less>"], observations=["memory grows"], notes=["two threads"]))
    assert re.findall("<li>(.*?)</li>", html) == ["log &lt;less&gt;", "memory grows", "two threads"]
    assert html.index("memory grows") < html.index("<details>") < html.index("two threads")


def test_a_trace_without_time_has_no_account() -> None:
    assert account_part(account(lines=[])) == ""
