"""The page of a study and the index of all, without a browser: figures beside verdicts, counts, names as text."""

import re
from dataclasses import replace
from pathlib import Path

from study_pages import CLAIMS, FIGURES, MARKUP, claim, verdicts, write_index, write_study

from experiments.artifacts.gallery import cards
from experiments.harness.case_study import CaseStudy
from experiments.verdicts.claims import answers, judge, load_claims
from experiments.verdicts.statistics import Estimate
from experiments.verdicts.study_page import ShownFigure, figure_of

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def test_the_figure_of_a_verdict_shows_its_subject_and_draws_what_its_claim_names() -> None:
    found = {
        (verdict.claim.id, verdict.subject.split()[0]): getattr(figure_of(verdict, FIGURES), "stem", None)
        for verdict in verdicts()
    }
    assert found["A-1", "walker"] == "fig_time" and found["A-2", "walker"] == "fig_calls"
    assert found["A-1", "hopper"] == "fig_calls"
    assert figure_of(verdicts()[0], [ShownFigure("fig", "", ("ant",))]) is None


def test_each_row_of_a_study_has_its_verdict_and_its_figure(tmp_path: Path) -> None:
    text = write_study(tmp_path / "study").read_text()
    table = text[text.index("<caption>Verdicts</caption>") :]
    rows = re.findall(r"<tr>(.*?)</tr>", table)[1:]
    assert len(rows) == len(verdicts())
    for row, verdict in zip(rows, verdicts(), strict=True):
        figure = figure_of(verdict, FIGURES)
        assert figure and f'href="#{figure.stem}"' in row and f'src="{figure.stem}.png"' in row
        assert f'data-key="{verdict.verdict}"' in row and f"<td>{verdict.claim.id}</td>" in row
        assert f'id="{figure.stem}"' in text
    assert "2 holds" in text and "2 differs" in text and "2 undecided" in text and "2 not testable here" in text


def test_the_index_has_every_verdict_once_below_its_figure(tmp_path: Path) -> None:
    text = write_index(tmp_path).read_text()
    cards = dict(re.findall(r'<article class="card"><a [^>]*><img src="first/(\w+).png"(.*?)</article>', text))
    assert set(cards) == {figure.stem for figure in FIGURES}
    found = {stem: re.findall(r'data-claim="([^"]+)"', card) for stem, card in cards.items()}
    assert sorted(found["fig_time"]) == ["A-1", "A-10", "G-1"]
    assert sorted(found["fig_calls"]) == sorted([*CLAIMS, "A-2"])
    outside = cards["fig_calls"].split("<details>")[0]
    assert outside.count("<li ") == 2 and outside.count("Why it may differ: why A-2 differs") == 2
    assert text.count("<li ") == len(verdicts())
    assert "Not drawn yet." in text and 'href="second/' not in text and 'href="first/index.html#fig_time"' in text


def test_names_on_both_pages_are_text(tmp_path: Path) -> None:
    for path in (write_study(tmp_path / "study"), write_index(tmp_path)):
        text = path.read_text()
        assert MARKUP not in text and "&lt;img src=x" in text


def test_a_page_asks_for_nothing_but_its_images(tmp_path: Path) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', write_study(tmp_path / "study").read_text())
    assert policy is not None and policy[1].startswith("default-src 'none'") and "unsafe" not in policy[1]
    assert "img-src 'self' file:;" in policy[1]


def test_every_figure_that_a_claim_names_is_drawn_by_its_study() -> None:
    named = {
        path.parent: {claim.figure for claim in load_claims(path)} - {""} for path in EXPERIMENTS.glob("*/claims.toml")
    }
    assert sum(map(bool, named.values())) == 5
    for folder, figures in named.items():
        code = "".join(path.read_text() for path in folder.glob("*.py"))
        assert not [figure for figure in figures if f'"{figure}"' not in code], folder


def test_an_answer_calls_a_group_by_its_title() -> None:
    asked = replace(claim("A-1"), answer="Simulation takes {measured} (published: {published}).")
    found = judge([asked], {"published": {"A-1": Estimate(3.0, 2.8, 3.2, 3)}}, "cpu", provisional=True)
    assert answers(found, {}) == ["published: Simulation takes 3 (2.8 to 3.2, n=3 runs) (published: more)."]
    names = CaseStudy(EXPERIMENTS / "simulator_choice", "quick", EXPERIMENTS).names
    (sentence,) = answers(found, names)
    assert sentence.startswith("The published simulators: ")
    assert names["published"] in cards("study", "", found, [], names)
    assert "A-1, published" not in cards("study", "", found, [], names)
