"""What the page says of what bounds a run: bars of causes and of changes worth trying, all else folded or left out."""

import re
from typing import Any

from rlscope.page.advice_part import advice_part

CHANGE = {"name": "batch <inference>", "assumption": "inference took no time", "saving_s": 4.0, "speedup": 5.0}


def advice(**changed: Any) -> dict[str, Any]:
    sentences = {
        "causes": ["Bound by Python: 4 s of 5 s (80 %)."],
        "lines": [],
        "memory": [],
        "waits": [],
        "changes": [],
        "limits": [],
    }
    causes = [
        {"cause": "python", "seconds": 4.0, "share": 0.8},
        {"cause": "launches", "seconds": 0.96, "share": 0.192},
        {"cause": "gpu", "seconds": 0.04, "share": 0.008},
    ]
    document = {"process": "main", "total_s": 5.0, "causes": causes, "changes": [CHANGE], "sentences": sentences}
    return document | changed


def rows(html: str) -> list[str]:
    return [re.sub("<[^>]+>", " ", row).split() for row in re.findall("<tr>(.*?)</tr>", html)]


def test_causes_and_changes_are_rows_with_a_bar() -> None:
    html = advice_part(advice())
    assert html.startswith("<p><strong>Bound by Python: 4 s of 5 s (80 %).</strong></p>")
    assert "What bound 5 s of main" in html
    assert [" ".join(row) for row in rows(html)] == [
        "Python 4 s 80 %",
        "CUDA calls 960 ms 19 %",
        "batch &lt;inference&gt; 4 s less 5 times as fast if inference took no time",
    ]
    assert re.findall('class="fill-([a-z]+)" x="0.0" width="([0-9.]+)"', html) == [
        ("python", "240.0"), ("cuda", "57.6"), ("saving", "300.0"),
    ]  # fmt: skip


def test_a_change_that_saves_little_is_not_worth_trying() -> None:
    sentences = advice()["sentences"] | {"changes": ["No change that is known here could save 5 %."]}
    html = advice_part(advice(changes=[CHANGE | {"saving_s": 0.01}], sentences=sentences))
    assert "batch" not in html and "<li>No change that is known here could save 5 %.</li>" in html


def test_a_change_that_leaves_nothing_says_so() -> None:
    assert "<td>all of it</td>" in advice_part(advice(changes=[CHANGE | {"speedup": None}]))


def test_waits_are_listed_and_limits_folded() -> None:
    sentences = advice()["sentences"] | {"waits": ["time.sleep, 1 call."], "limits": ["No time is in simulation."]}
    html = advice_part(advice(sentences=sentences))
    assert html.index("<ul><li>time.sleep, 1 call.</li></ul>") < html.index("<details>")
    assert "<details><summary>What this does not know</summary><ul><li>No time is in simulation.</li></ul>" in html
