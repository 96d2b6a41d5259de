"""The look of the figures, read back from what matplotlib was told to draw."""

from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from experiments.overhead_correction.figures import overhead_figure
from rlscope.model import Category, Resource
from rlscope.plots import style
from rlscope.plots.bars import Outlines
from rlscope.plots.breakdown import breakdown_figure
from rlscope.plots.style import save_figure
from rlscope.plots.tables import RECORDED_TIME, breakdown_table, transitions_table
from rlscope.plots.transitions import transitions_figure

ROWS = pd.DataFrame(
    [
        ("backpropagation", "backend", "cpu", 4.0),
        ("backpropagation", "python", "cpu", 2.0),
        ("backpropagation", "gpu", "gpu", 1.0),
        ("inference", "backend", "cpu+gpu", 1.0),
        ("simulation", "python", "cpu", 1.0),
        ("simulation", "simulator", "cpu", 1.0),
    ],
    columns=["stage", "category", "resource", "seconds"],
)
TABLE = pd.concat([breakdown_table("DDPG", ROWS, 100.0), breakdown_table("PPO", ROWS, 50.0)], ignore_index=True)


def axes_of(figure: Figure) -> list[Axes]:
    return figure.get_axes()


def bars_of(axes: Axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def legend_of(figure: Figure, number: int) -> list[str]:
    return [text.get_text() for text in figure.legends[number].get_texts()]


def test_every_category_and_resource_has_a_look_of_its_own() -> None:
    hatches = [style.CATEGORY_HATCHES[label] for label in {category.label for category in Category}]
    assert len(set(hatches)) == len(hatches)
    colours = [style.RESOURCE_COLOURS[resource.value] for resource in Resource]
    assert len(set(colours)) == len(colours)


def test_colour_is_resource_and_hatch_is_category() -> None:
    pieces = bars_of(axes_of(breakdown_figure(TABLE))[1])
    drawn = [(to_hex(piece.get_facecolor()), piece.get_hatch() or "") for piece in pieces[:6]]
    assert drawn == [
        (style.RESOURCE_COLOURS[row.resource], style.CATEGORY_HATCHES[row.category]) for row in TABLE[:6].itertuples()
    ]
    assert drawn[2] == (style.RESOURCE_COLOURS["gpu"], "")
    assert {to_hex(piece.get_edgecolor()) for piece in pieces} == {"#000000"}


@pytest.mark.parametrize(("value", "heights"), [("percent", [40, 20, 10]), ("seconds", [20, 10, 5])])
def test_pieces_stand_on_one_another(value: str, heights: list[float]) -> None:
    pieces = bars_of(axes_of(breakdown_figure(TABLE, value))[1])[6:9]
    assert [piece.get_height() for piece in pieces] == pytest.approx(heights)
    assert [piece.get_y() for piece in pieces] == pytest.approx([0, heights[0], heights[0] + heights[1]])


def test_totals_are_black_bars_above() -> None:
    figure = breakdown_figure(TABLE)
    totals, bars = axes_of(figure)
    assert [(bar.get_height(), to_hex(bar.get_facecolor())) for bar in bars_of(totals)] == [
        (100.0, "#000000"),
        (50.0, "#000000"),
    ]
    assert bars.get_position().height / totals.get_position().height == pytest.approx(2.5)
    assert totals.get_ylabel() == "Training time (sec)"
    assert bars.get_ylabel() == "Percent (%)"


def test_no_tick_is_so_high_that_its_label_meets_the_panel_above() -> None:
    rows = pd.DataFrame([("simulation", "python", "cpu", 1.0)], columns=["stage", "category", "resource", "seconds"])
    for training_s in (93.0, 96.0, 99.0):
        bars = axes_of(breakdown_figure(breakdown_table("trace", rows, training_s), "seconds"))[1]
        top = bars.get_ylim()[1]
        assert not [tick for tick in bars.get_yticks() if 0.951 * top < tick <= top]


def test_numbers_stand_above_the_first_group_only() -> None:
    bars = axes_of(breakdown_figure(TABLE))[1]
    assert [text.get_text() for text in bars.texts] == ["(1)", "(2)", "(3)"]


def test_legend_and_key_are_in_the_published_order() -> None:
    figure = breakdown_figure(TABLE)
    assert legend_of(figure, 0) == ["Simulator", "Python", "Backend", "GPU", "CPU + GPU", "CPU"]
    cuda = breakdown_figure(pd.concat([TABLE, TABLE[:1].assign(category="cuda")]))
    assert legend_of(cuda, 0) == ["Simulator", "Python", "CUDA", "Backend", "GPU", "CPU + GPU", "CPU"]
    assert legend_of(figure, 1) == ["(1) Backpropagation", "(2) Inference", "(3) Simulation"]


def test_what_the_published_figures_lack_is_added_where_present() -> None:
    rows = pd.DataFrame(
        [
            ("simulation", "wait", "idle", 1.0),
            ("training_loop", "python", "cpu", 1.0),
            ("(none)", "python", "cpu", 1.0),
        ],
        columns=["stage", "category", "resource", "seconds"],
    )
    figure = breakdown_figure(breakdown_table("trace", rows, 3.0), "seconds", time=RECORDED_TIME)
    assert legend_of(figure, 0)[0] == "Wait"
    assert "Idle" in legend_of(figure, 0)
    assert legend_of(figure, 1)[3:] == ["(4) Training loop", "(5) No operation"]
    assert {axes.get_ylabel() for axes in axes_of(figure)} == {RECORDED_TIME}


def test_synchronisation_is_the_fourth_bar_where_it_has_time() -> None:
    rows = pd.concat([ROWS, ROWS[ROWS["stage"] == "inference"].assign(stage="synchronisation")])
    figure = breakdown_figure(breakdown_table("trace", rows, 10.0), "seconds")
    published = ["(1) Backpropagation", "(2) Inference", "(3) Simulation"]
    assert legend_of(figure, 1) == [*published, "(4) Synchronisation"]
    assert [piece.get_height() for piece in bars_of(axes_of(figure)[1])][-1] == pytest.approx(10 / 11)
    counts = rows.drop_duplicates("stage").assign(category="backend", count=1.0, per_iteration=1.0, per_timestep=1.0)
    assert legend_of(transitions_figure(transitions_table("trace", counts)), 1) == [*published, "(4) Synchronisation"]
    without = counts[counts["stage"] != "synchronisation"]
    assert legend_of(transitions_figure(transitions_table("trace", without)), 1) == published


def test_the_key_keeps_clear_of_a_long_legend() -> None:
    rows = pd.DataFrame(
        [(stage, "wait", "idle", 1.0) for stage in style.STAGE_ORDER],
        columns=["stage", "category", "resource", "seconds"],
    )
    figure = breakdown_figure(breakdown_table("trace", rows, 3.0))
    legend, key = figure.legends
    assert key.get_window_extent().y1 <= legend.get_window_extent().y0


def test_groups_are_labelled() -> None:
    bars = axes_of(breakdown_figure(TABLE, labels={"PPO": "PPO\nOn-policy"}, title="RL algorithm"))[1]
    assert [label.get_text() for label in bars.get_xticklabels()] == ["DDPG", "PPO\nOn-policy"]
    assert bars.get_xlabel() == "RL algorithm"


def test_a_legend_has_nothing_that_is_not_in_the_figure() -> None:
    on_cpu = TABLE[TABLE["resource"] == "cpu"]
    assert legend_of(breakdown_figure(on_cpu), 0) == ["Simulator", "Python", "Backend", "CPU"]
    counts = on_cpu.assign(count=1.0, per_iteration=1.0, per_timestep=1.0)
    assert legend_of(transitions_figure(counts), 0) == ["Simulator", "Backend"]


def test_totals_on_a_log_scale_have_their_upper_ends_alone() -> None:
    outlines = Outlines(pd.DataFrame({"training_s": [400.0]}, index=["PPO"]), "published")
    totals = axes_of(breakdown_figure(TABLE, log_totals=True, outlines=outlines))[0]
    assert totals.get_yscale() == "log" and not bars_of(totals)
    assert [set(line.get_ydata()) for line in totals.get_lines()] == [{100.0}, {50.0}, {400.0}]  # type: ignore[arg-type]
    assert totals.get_ylim() == (32.0, 512.0)


@pytest.mark.parametrize(
    "name", ["short", "ForkServerProcess-1", "a name as long as that of a program with its arguments"]
)
def test_names_of_groups_do_not_overlap(name: str) -> None:
    many = pd.concat([breakdown_table(f"{name} {number}", ROWS, 1.0) for number in range(11)])
    figure = breakdown_figure(many)
    figure.draw_without_rendering()
    labels = axes_of(figure)[1].get_xticklabels()
    assert {label.get_rotation() for label in labels} == ({0.0} if name == "short" else {25.0})
    if name == "short":
        boxes = [label.get_window_extent() for label in labels]
        assert not any(one.overlaps(other) for one, other in pairwise(boxes))


def test_more_workloads_make_a_wider_figure() -> None:
    many = pd.concat([breakdown_table(f"workload {number}", ROWS, 1.0) for number in range(12)])
    assert breakdown_figure(many).get_figwidth() == pytest.approx(3 * breakdown_figure(TABLE).get_figwidth())


def test_transitions_are_stacked_by_the_category_entered() -> None:
    rows = pd.DataFrame(
        [("backpropagation", "backend", 10.0), ("backpropagation", "cuda", 30.0), ("simulation", "simulator", 5.0)],
        columns=["stage", "category", "per_iteration"],
    ).assign(count=1.0, per_timestep=1.0)
    figure = transitions_figure(transitions_table("DDPG", rows))
    pieces = bars_of(axes_of(figure)[0])
    assert [(piece.get_height(), piece.get_y(), piece.get_hatch()) for piece in pieces] == [
        (10.0, 0.0, style.CATEGORY_HATCHES["backend"]),
        (30.0, 10.0, style.CATEGORY_HATCHES["cuda"]),
        (5.0, 0.0, style.CATEGORY_HATCHES["simulator"]),
    ]
    assert legend_of(figure, 0) == ["Simulator", "CUDA", "Backend"]
    assert axes_of(figure)[0].get_ylabel() == "Transitions per iteration"


@pytest.mark.parametrize("suffix", ["pdf", "png", "svg"])
def test_equal_tables_make_equal_files(tmp_path: Path, suffix: str) -> None:
    for name in ("first", "second"):
        save_figure(breakdown_figure(TABLE), tmp_path / f"{name}.{suffix}")
    first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("first", "second"))
    assert first == second


OVERHEAD = pd.DataFrame(
    [
        ("PPO", "algorithm", 100.0, 5.0, 4.5, 5.5, 101.0, 0.5, 2.0, 1.5, 0.0, 1.0),
        ("SAC", "algorithm", 100.0, 2.0, 1.0, 3.0, 99.5, 0.5, 0.5, 1.5, 0.0, -0.5),
        ("Ant", "simulator", 100.0, 4.0, 3.0, 5.0, 100.0, 1.0, 2.0, 1.0, 0.0, 0.0),
    ],
    columns=[
        "workload", "panel", "unrecorded_percent", "added_percent", "added_percent_low", "added_percent_high",
        "corrected_percent", "operation_percent", "simulator_percent", "backend_percent", "cuda_percent",
        "bias_percent",
    ],
)  # fmt: skip
PANELS = {"algorithm": "RL algorithm", "simulator": "Simulator"}


def test_overhead_stands_on_the_corrected_time_beside_the_unrecorded_one() -> None:
    figure = overhead_figure(OVERHEAD, {"SAC": "SAC, off-policy"}, PANELS)
    algorithms, simulators, overhead, _ = axes_of(figure)
    ppo = bars_of(algorithms)[:5]
    assert [piece.get_height() for piece in ppo] == [101, 0.5, 2, 1.5, 100]
    assert [piece.get_y() for piece in ppo] == [0, 101, 101.5, 103.5, 0]
    assert [text.get_text() for text in algorithms.texts] == ["+1 %", "-0.5 %"]
    assert [text.get_text() for text in simulators.texts] == ["0 %"]
    assert [piece.get_height() for piece in bars_of(overhead)[:4]] == [0.5, 2, 1.5, 5]
    assert [label.get_text() for label in overhead.get_xticklabels()] == ["PPO", "SAC, off-policy"]
    assert overhead.get_xlabel() == "RL algorithm"


def test_overhead_that_nobody_has_is_not_in_the_key() -> None:
    keys = legend_of(overhead_figure(OVERHEAD, {}, PANELS), 0)
    assert keys[:3] == ["Python ↔ backend", "Python ↔ simulator", "Operations"]
    with_gpu = OVERHEAD.assign(cuda_percent=1.0)
    assert legend_of(overhead_figure(with_gpu, {}, PANELS), 0)[0] == "CUDA"


def test_a_panel_without_workloads_is_left_out() -> None:
    algorithms = OVERHEAD[OVERHEAD["panel"] == "algorithm"]
    assert len(axes_of(overhead_figure(algorithms, {}, PANELS))) == 2
