"""Each fact of a run is computed once, whoever shows it."""

import sys
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from page_traces import MS, training, workers
from recording import call_here
from trace_builder import write_scripts

import rlscope
from rlscope.analysis.account.account import account_rows
from rlscope.analysis.account.owner_path import owner_path
from rlscope.analysis.analysis import analyze
from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.analysis.document import account_sentences, document_of
from rlscope.analysis.tables.loop import loops_of
from rlscope.report.sentences import correction_lines
from rlscope.trace.reader import open_trace

FACTS = (account_rows, loops_of, owner_path)
MILLISECOND = Cost(Bounds(1e6, 1e6, 1e6), Bounds(0, 0, 0), Bounds(0, 0, 0), events=1000)
ONCE = {"account_rows": 1, "loops_of": 1, "owner_path": 1}


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each fact was computed, by whichever module that knows the function."""
    counts: Counter[str] = Counter()

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def count(*arguments: Any) -> Any:
            counts[function.__name__] += 1
            return function(*arguments)

        return count

    for function in FACTS:
        name, replaced = function.__name__, counted(function)
        for module in [*sys.modules.values()]:
            if vars(module).get(name) is function:
                monkeypatch.setattr(module, name, replaced)
    return counts


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scripts([training(6, device=True), *workers(2)], tmp_path_factory.mktemp("facts") / "trace")


def show(*words: object) -> None:
    finished = call_here(*words, "--correct", "none")
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("options", [(), ("--json",), ("--all",)], ids=str)
def test_analyze_computes_each_fact_once(trace: Path, options: tuple[str, ...], computed: Counter[str]) -> None:
    show("analyze", trace, *options)
    assert computed == ONCE


@pytest.mark.parametrize("output", ["page.html", "folder"])
def test_a_report_computes_each_fact_once(trace: Path, output: str, tmp_path: Path, computed: Counter[str]) -> None:
    show("report", trace, "-o", tmp_path / output)
    assert computed == ONCE


def test_each_of_two_traces_has_its_own_facts(trace: Path, tmp_path: Path, computed: Counter[str]) -> None:
    show("report", trace, write_scripts([training(4, start=3 * MS)], tmp_path / "other"), "-o", tmp_path / "page.html")
    assert computed == dict.fromkeys(ONCE, 2)


def test_a_notebook_computes_each_fact_once(trace: Path, computed: Counter[str]) -> None:
    analysis = rlscope.analyze(trace)
    assert analysis.path is not None and analysis.path.process in analysis._repr_html_()
    assert repr(analysis)
    assert computed == ONCE


def test_correction_and_account_follow_the_same_path(trace: Path, computed: Counter[str]) -> None:
    analysis = analyze(open_trace(trace), correction=Correction({"boundary": MILLISECOND}, "a test", {}))
    document = document_of(analysis)
    assert [*account_sentences(analysis), *correction_lines(analysis)]
    assert analysis.correction is not None and analysis.path is not None
    assert analysis.correction.process == analysis.path.process
    assert {row["process"] for row in document["account"]} == {analysis.path.process}  # type: ignore[attr-defined]
    assert computed == ONCE
