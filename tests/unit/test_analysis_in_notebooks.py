"""An analysis as HTML: small, without a script, and whatever names a trace has."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import rlscope
from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.analysis import Analysis
from rlscope.errors import TraceError
from  import print_analyses

HOSTILE = "<script>alert('x')</script>&\u202e\x1b[31m" * 20
S = 1_000_000_000
TAGS = {"p", "b", "code", "table", "thead", "tbody", "tr", "th", "td", "div", "ul", "li"}


class Tags(HTMLParser):
    """Collects the elements and the attributes of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def analysis_of(directory: Path, names: list[str], processes: int = 1) -> Analysis:
    """Each process has an equal time in an operation of each name, called by its number too."""
    writer = TraceWriter(directory)
    for number in range(processes):
        process = writer.process(pid=1 + number, start_ticks=number)
        process.properties({"process_name": f"{HOSTILE}{number}"})
        thread = process.thread()
        for place, name in enumerate(names):
            thread.operation(number + place * S, number + (place + 1) * S, name)
        process.stop(number + len(names) * S)
    return rlscope.analyze(writer.write({"main_pid": 1, "exit_status": 0, "complete": False}))


def test_it_shows_shares_as_bars(tmp_path: Path) -> None:
    html = analysis_of(tmp_path / "trace", ["simulation", "inference", "inference", "inference"])._repr_html_()
    assert [float(width) for width in re.findall(r"width:([\d.]+)em;height", html)] == [9, 3, 9, 9, 3, 3]
    assert "75 %" in html and "inference, Python" in html and "Incomplete: " in html


def test_where_there_is_no_html_it_is_what_the_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    analysis = analysis_of(tmp_path / "trace", ["simulation", "inference"])
    print_analyses([analysis], is_whole=False)
    assert f"{analysis!r}\n" == capsys.readouterr().out


def test_hostile_names_are_shown_and_it_stays_small(tmp_path: Path) -> None:
    html = analysis_of(
        tmp_path / f"trace{HOSTILE[:7]}", [f"{HOSTILE}{number}" for number in range(60)], 10
    )._repr_html_()
    assert len(html.encode()) <= 50_000
    found = Tags(html)
    assert found.tags <= TAGS and found.attributes == {"style"}
    assert "\x1b" not in html and "\u202e" not in html
    assert "more lines: <code>analysis.breakdown.table</code>" in html


def test_a_directory_without_a_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        rlscope.analyze(tmp_path / "nothing")
