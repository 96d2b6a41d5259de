"""The figures of parallel sampling, read back from what matplotlib was told to draw."""

from pathlib import Path

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from experiments.parallel_sampling.figures import PART_LOOKS, sampling_diagnostic_figure, train_time_figure
from experiments.parallel_sampling.step_grids import LONGEST, step_grids_figure
from rlscope.plots.style import save_figure

HOURS = pd.DataFrame(
    [("lock-step", "model", 6.0, 5.0, 7.0), ("lock-step", "measured", 8.0, 8.0, 8.0), ("free", "model", 2.0, 1.9, 2.1)],
    columns=["sampler", "source", "hours", "hours_low", "hours_high"],
)
PUBLISHED = pd.DataFrame([("lock-step", 7.0, 10.0), ("free", 0.5, 0.5)], columns=["sampler", "hours_low", "hours_high"])
PARTS = pd.DataFrame(
    [
        (group, sampler, part, float(milliseconds))
        for group, sampler, times in (
            ("Timed", "lock-step", (1, 3, 1, 20, 2)),
            ("Timed", "free", (1, 3, 1, 0, 0)),
            ("Real", "free", (1, 5, 2, 1, 1)),
        )
        for part, milliseconds in zip(PART_LOOKS, times, strict=True)
    ],
    columns=["group", "sampler", "part", "milliseconds"],
)
GRID = pd.DataFrame(
    [
        ("a grid", step, environment, cell)
        for step, row in enumerate([[3, 3], [100, 3], [3, 3]])
        for environment, cell in enumerate(row)
    ],
    columns=["grid", "step", "environment", "milliseconds"],
)


def bars(axes: Axes) -> list[Rectangle]:
    """The rectangles in the order in which they were drawn."""
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_hours_stand_in_groups_by_sampler_before_the_published_range() -> None:
    (axes,) = train_time_figure(HOURS, PUBLISHED).axes
    published, *drawn = bars(axes)
    assert (published.get_y(), published.get_height()) == (7.0, 3.0)
    assert [bar.get_height() for bar in drawn] == [6.0, 8.0, 2.0]
    first, second, third = (bar.get_x() + bar.get_width() / 2 for bar in drawn)
    assert first < 0 < second < 0.5 < third < 1
    assert drawn[0].get_facecolor() == drawn[2].get_facecolor() != drawn[1].get_facecolor()
    assert texts(axes) == ["6", "8", "2"]
    low, high = axes.get_ylim()
    assert low < 0.5
    assert high > 10
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["model", "measured", "Published"]


def test_parts_of_a_step_are_stacked_and_groups_have_axes_of_their_own() -> None:
    timed, real = sampling_diagnostic_figure(PARTS).axes
    assert (timed.get_title(), real.get_title()) == ("Timed", "Real")
    tops = [bar.get_y() + bar.get_height() for bar in bars(timed)]
    assert max(tops) == 27
    assert sorted(tops)[-2:] == [25, 27]
    assert texts(timed) == ["27", "5"]
    assert texts(real) == ["10"]
    assert timed.get_ylim()[1] > 27 > real.get_ylim()[1]
    assert [label.get_text() for label in timed.get_xticklabels()] == ["lock-step", "free"]


def test_a_grid_names_the_longest_cell_of_each_row_and_their_mean() -> None:
    (axes,) = step_grids_figure(GRID).axes
    (cells,) = axes.collections
    axes.figure.canvas.draw()
    is_coloured = [to_hex(colour) == LONGEST for colour in cells.get_facecolor()]  # type: ignore[arg-type]
    assert is_coloured == [False, False, True, False, False, False]
    assert texts(axes) == ["3", "3", "100", "3", "3", "3", "3", "100", "3", "mean 35.3 ms", "longest"]


@pytest.mark.parametrize(
    "figure", [train_time_figure(HOURS, PUBLISHED), sampling_diagnostic_figure(PARTS), step_grids_figure(GRID)]
)
def test_figures_can_be_saved(figure: Figure, tmp_path: Path) -> None:
    save_figure(figure, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000
