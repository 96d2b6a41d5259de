"""The numbers behind the figures."""

from pathlib import Path

import pandas as pd
import pytest

from rlscope.plots.tables import breakdown_table, cell_text, markdown, transitions_table, write_csv

ROWS = pd.DataFrame(
    [
        ("simulation", "simulator", "cpu", 1.0),
        ("simulation", "python", "cpu", 3.0),
        ("backpropagation", "cuda", "gpu", 1.5),
        ("backpropagation", "wait", "gpu", 0.5),
        ("backpropagation", "python", "cpu+gpu", 2.0),
        ("backpropagation", "python", "cpu", 1.0),
        ("backpropagation", "backend", "cpu", 1.0),
    ],
    columns=["stage", "category", "resource", "seconds"],
)


def test_shares_are_of_the_recorded_time_and_spread_over_the_training() -> None:
    table = breakdown_table("ppo", ROWS, training_s=1000.0)
    assert table["percent"].sum() == pytest.approx(100)
    assert table["seconds"].sum() == pytest.approx(1000)
    row = table[(table["stage"] == "simulation") & (table["category"] == "python")].iloc[0]
    assert (row["percent"], row["seconds"], row["training_s"]) == (30.0, 300.0, 1000.0)


def test_rows_are_in_stack_order() -> None:
    table = breakdown_table("ppo", ROWS, 10.0)
    assert list(zip(table["stage"], table["category"], table["resource"], strict=True)) == [
        ("backpropagation", "backend", "cpu"),
        ("backpropagation", "python", "cpu"),
        ("backpropagation", "python", "cpu+gpu"),
        ("backpropagation", "gpu", "gpu"),
        ("simulation", "python", "cpu"),
        ("simulation", "simulator", "cpu"),
    ]


def test_what_the_gpu_does_alone_is_one_piece() -> None:
    table = breakdown_table("ppo", ROWS, 10.0)
    assert table[table["resource"] == "gpu"]["seconds"].tolist() == [2.0]


def test_a_workload_without_any_time_has_zero_shares() -> None:
    assert breakdown_table("ppo", ROWS.assign(seconds=0.0), 0.0)["percent"].tolist() == [0.0] * 6


def test_transitions_table_orders_bars_and_pieces() -> None:
    rows = pd.DataFrame(
        [("simulation", "simulator", 3.0), ("inference", "cuda", 2.0), ("inference", "backend", 1.0)],
        columns=["stage", "category", "count"],
    ).assign(per_iteration=1.0, per_timestep=1.0)
    assert transitions_table("ppo", rows)["count"].tolist() == [1.0, 2.0, 3.0]


def test_markdown_shows_three_digits_and_nothing_where_nothing_is_known() -> None:
    table = pd.DataFrame({"name": ["a|b"], "value": [1.23456], "large": [12345.6], "unknown": [float("nan")]})
    assert markdown(table) == "| name | value | large | unknown |\n|---|---|---|---|\n| a\\|b | 1.23 | 12,346 |  |\n"


@pytest.mark.parametrize(("value", "text"), [(None, ""), (pd.NA, ""), (0.0, "0"), ("a\nb", "a, b"), (3, "3")])
def test_cells(value: object, text: str) -> None:
    assert cell_text(value) == text


def test_csv_holds_the_numbers_of_the_table(tmp_path: Path) -> None:
    table = breakdown_table("ppo", ROWS, 7.0)
    write_csv(table, tmp_path / "table.csv")
    read = pd.read_csv(tmp_path / "table.csv")
    pd.testing.assert_frame_equal(read, table, check_dtype=False, rtol=1e-5)
