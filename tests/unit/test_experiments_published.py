"""What the published figures show stands in the study's own axes, and its number in caption and heading."""

from pathlib import Path

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from experiments.harness.matrix import load_matrix
from experiments.RL_framework_comparison.figure import Column, cut_tallest, framework_figure
from experiments.verdicts.claims import load_claims
from experiments.verdicts.published import FILE, Line, Published
from experiments.verdicts.statistics import exact
from rlscope.plots.bars import OUTLINE
from rlscope.plots.breakdown import breakdown_figure

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
STUDIES = sorted(path.parent for path in EXPERIMENTS.glob(f"*/{FILE}"))
ALL = sorted(path.parent for path in EXPERIMENTS.glob("*/runs.toml"))
CHOICE = Published(EXPERIMENTS / "algorithm_choice")
STAGES = ("backpropagation", "inference", "simulation")
#: Of claims that count nothing which has a unit.
WITHOUT_A_UNIT = {
    "calls_to_time_correlation",
    "callbacks_100_minus_1000",
    "launches_slope_off_one",
    "kernels_slope_off_one",
    "counters_refused",
}


def table_of(workloads: tuple[str, ...], percent: float) -> pd.DataFrame:
    rows = [(name, stage, "python", "cpu", percent, 1.0, 100.0) for name in workloads for stage in STAGES]
    columns = ["workload", "stage", "category", "resource", "percent", "seconds", "training_s"]
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_what_was_published_is_of_workloads_and_figures_that_the_study_has(study: Path) -> None:
    matrix, table = load_matrix(study / "runs.toml"), Published(study).table
    names = {f"{entry.name} {group}" for entry in matrix.entries for group in entry.groups}
    names |= {entry.name for entry in matrix.entries}
    assert {name for name in table["workload"].astype(str) if not name.isdigit()} <= names  # else steps per call
    assert set(table["stem"]) <= {figure.stem for figure in Published(study).source.figures}
    assert not table.duplicated(["stem", "panel", "workload"]).any()


@pytest.mark.parametrize("study", ["algorithm_choice", "simulator_choice"])
def test_shares_of_a_published_training_are_a_whole(study: str) -> None:
    shares = Published(EXPERIMENTS / study).table[list(STAGES)].dropna().sum(axis=1)
    assert shares.between(99, 101).all()  # each was read to 0.3 points


def test_published_bars_are_outlines_around_the_measured_ones() -> None:
    table = table_of(("PPO", "unpublished"), 10.0)
    totals, bars = breakdown_figure(table, outlines=CHOICE.outlines("figure_5_algorithm_choice")).get_axes()
    pieces = [patch for patch in bars.patches if isinstance(patch, Rectangle)]
    measured = {round(bar.get_x(), 3) for bar in pieces if bar.get_fill()}
    dashed = [bar for bar in pieces if not bar.get_fill()]
    known = {round(bar.get_x(), 3): bar.get_height() for bar in dashed if bar.get_height() > 0}
    assert list(known.values()) == [39.3, 15.1, 46.6] and set(known) <= measured
    assert {to_hex(bar.get_edgecolor()) for bar in dashed} == {to_hex(OUTLINE["edgecolor"])}
    assert bars.get_ylim()[1] > 46.6
    of_totals = [bar.get_height() for bar in totals.patches if isinstance(bar, Rectangle) and not bar.get_fill()]
    assert of_totals[0] == 3820 and totals.get_ylim()[1] > 3820


def test_panels_that_were_published_as_one_figure_are_one() -> None:
    frameworks, stem = Published(EXPERIMENTS / "RL_framework_comparison"), "figure_4_framework_comparison"
    calls = pd.DataFrame([("jax_jit", stage, "backend", 5.0) for stage in STAGES])
    calls.columns = pd.Index(["workload", "stage", "category", "per_timestep"])
    columns = [
        Column(
            name,
            table_of(("jax_jit", "tensorflow_graph"), 10.0),
            calls,
            letters,
            (frameworks.outlines(stem, letters[0]), frameworks.outlines(stem, letters[1])),
        )
        for name, letters in (("TD3", ("a", "c")), ("DDPG", ("b", "d")))
    ]
    axes = framework_figure(columns, {}).get_axes()
    assert [each.get_xlabel()[-4:] for each in axes] == ["", "time", "ions", "", "time", "ions"]
    dashed = [{bar.get_height() for bar in each.patches if not bar.get_fill()} for each in axes]  # type: ignore[attr-defined]
    assert 8810 in dashed[1] and 9430 in dashed[4]
    ends = [{height for line in axes[place].get_lines() for height in line.get_ydata()} for place in (0, 3)]
    assert 11700 in ends[0] and 13100 in ends[1]
    assert pd.concat([column.table for column in columns])["panel"].unique().tolist() == ["a", "c", "b", "d"]


def test_a_published_value_across_the_axes_has_its_place_and_its_label() -> None:
    found = Published(EXPERIMENTS / "data_collection").lines("figure_4_data_collection")
    assert [line.y for line in found] == [2.0**16, 2.0**18, 2.0**26]
    axes = Figure().subplots()
    for line in [*found, Line("upright", x=3.0), Line("")]:
        line.draw(axes)
    drawn = [line.get_xydata().tolist() for line in axes.get_lines()]  # type: ignore[union-attr]
    assert [ends[0][1] for ends in drawn[:3]] == [2.0**16, 2.0**18, 2.0**26] and drawn[3][0][0] == 3.0
    assert [text.get_text() for text in axes.texts] == [line.label for line in found] + ["upright"]
    assert not Published(EXPERIMENTS / "data_collection").lines("fig_other")


@pytest.mark.parametrize("study", ALL, ids=lambda study: study.name)
def test_a_figure_of_a_paper_has_published_values_or_says_that_there_are_none(study: Path) -> None:
    assert all(figure.values for figure in Published(study).source.figures if figure.number)


def test_a_framework_that_makes_slivers_of_the_others_is_cut_and_its_height_is_written() -> None:
    slow = table_of(("tensorflow_eager",), 10.0).assign(seconds=9000.0)
    table = pd.concat([table_of(("jax_jit", "tensorflow_graph"), 10.0).assign(seconds=1000.0), slow])
    axes = Figure().subplots()
    axes.set_ylim(0, 10_000)
    cut_tallest(axes, table)
    assert axes.get_ylim()[1] < 2000
    assert [text.get_text() for text in axes.texts] == ["(1) 9 ks\n(2) 9 ks\n(3) 9 ks"]
    cut_tallest(axes, table_of(("jax_jit", "tensorflow_graph"), 10.0))
    assert len(axes.texts) == 1


def test_published_stands_beside_measured_where_both_are_known() -> None:
    beside = CHOICE.beside("figure_5_algorithm_choice", table_of(("PPO", "unpublished"), 10.0), "percent")
    assert beside.to_dict("list") == {
        "workload": ["PPO"] * 3,
        "stage": list(STAGES),
        "published": [39.3, 15.1, 46.6],
        "measured": [10.0] * 3,
    }
    assert CHOICE.beside("fig_other", table_of(("PPO",), 10.0), "percent").empty
    assert CHOICE.outlines("fig_other") is None


def test_a_figure_says_which_published_one_it_is() -> None:
    assert CHOICE.heading("figure_5_algorithm_choice", "walker") == "Figure 5: walker"
    assert CHOICE.heading("fig_other", "walker") == "walker"
    assert CHOICE.caption("figure_5_algorithm_choice", "Said.").startswith("Figure 5 of RL-Scope's paper")
    assert CHOICE.caption("fig_other", "Said.") == "Said."


@pytest.mark.parametrize(
    "study", sorted(path.parent for path in EXPERIMENTS.glob("*/runs.toml")), ids=lambda path: path.name
)
def test_every_study_says_what_it_compares_with_what_was_published(study: Path) -> None:
    figures = Published(study).source.figures
    assert figures and len({figure.stem for figure in figures}) == len(figures)
    assert all(figure.compared for figure in figures)


def test_every_measurement_has_a_unit() -> None:
    claims = [claim for path in EXPERIMENTS.glob("*/*claims.toml") for claim in load_claims(path)]
    assert {claim.metric for claim in claims if not claim.measured_text(exact(2.5)).removeprefix("2.5")} == (
        WITHOUT_A_UNIT
    )


def test_each_study_has_a_claim_that_answers_its_question() -> None:
    for path in EXPERIMENTS.glob("*/claims.toml"):
        assert any("{measured}" in claim.answer for claim in load_claims(path)), path
