"""The page of what rules find in programs as they are says what became of what was tried, and what was not tried."""

import json

import pytest
from rules import field, field_page

NAME = next(iter(field.programs()))


def row(code, share, line=3):
    return {"code": code, "name": "name", "share": share, "file": "folder/train.py", "line": line}


def trial(code, low, factor, high):
    return {
        "program": NAME, "code": code, "how": "by an edit", "factor": factor, "low": low, "high": high, "pairs": 3,
        "of": "wall",
    }  # fmt: skip


def page(rows, trials=()):
    return field_page.page({NAME: {"seconds": 12.3, "limit": 30, "findings": rows}}, list(trials), 30)


@pytest.mark.parametrize(
    ("said", "low", "factor", "high", "verdict"),
    [
        (0.5, 1.34, 1.4, 1.9, "yes"),
        (0.5, 1.3, 1.4, 1.9, "open"),
        (0.33, 0.9, 1.0, 1.1, "no"),
        (None, 1.0, 1.0, 1.0, ""),
    ],
)
def test_a_finding_holds_where_half_of_the_saving_is_measured(said, low, factor, high, verdict):
    assert field_page.verdict_of(said, trial("RLS505", low, factor, high)) == verdict


def test_what_was_found_and_tried_stands_in_one_row():
    text = page([row("RLS505", 0.33)], [trial("RLS505", 1.25, 1.31, 2.0)])
    finding = "[RLS505](RLS505.md) name `train.py:3`"
    assert f"| {NAME} | 12 s | {finding} | 33 % | 1.31 (1.25 to 2.00, 3 pairs, wall time) | yes |" in text
    assert f"- {NAME}, RLS505: by an edit" in text
    assert "1 hold, 0 do not, and 0 are open. By the median alone 1 of them hold" in text


def test_what_was_not_tried_or_is_no_time_says_so():
    text = page([row("RLS505", 0.33), row("RLS801", None, line=0)])
    assert "| 33 % | not tried | |" in text
    assert "| | | [RLS801](RLS801.md) name | | not tried | |" in text
    assert "Rules find 2 things in 1 of 1 programs" in text


def test_a_program_without_findings_says_nothing_and_the_machine_is_none():
    assert f"| {NAME} | 12 s | nothing | | | |" in page([row("RLS102", None)])


def test_a_program_that_is_not_recorded_says_so():
    assert f"| {NAME} | not recorded | | | | |" in field_page.page({}, [], 30)


def test_what_was_tried_is_of_programs_and_rules_that_are_there():
    found = json.loads(field.FOUND.read_text())
    for each in field_page.tried():
        assert each["code"] in {row["code"] for row in found[each["program"]]["findings"]}


def test_the_page_is_what_was_kept():
    found = json.loads(field.FOUND.read_text())
    limit = max(each["limit"] for each in found.values())
    assert field_page.PAGE.read_text() == field_page.page(found, field_page.tried(), limit)
