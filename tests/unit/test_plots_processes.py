"""The view of many processes, read back from what matplotlib was told to draw."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch, Rectangle

from rlscope.plots.processes import (
    BARS,
    DEPENDENCY,
    Block,
    arrows_of,
    blocks_of,
    natural,
    process_view,
)
from rlscope.plots.style import save_figure

PHASE_COLUMNS = ["process", "phase", "start_s", "end_s", "wall_s", "cpu_s", "gpu_s", "wait_s"]
DEPENDENCY_COLUMNS = ["process", "phase", "on", "stream", "count", "wait_s"]
PHASES = pd.DataFrame(
    [
        ("main", "(none)", 0.0, 2.0, 2.0, 1.0, 0.0, 1.0),
        ("main", "training", 12.0, 16.0, 4.0, 3.0, 1.0, 0.0),
        ("worker_0", "self_play", 2.0, 10.0, 8.0, 6.0, 0.5, 2.0),
        ("worker_1", "self_play", 2.5, 11.0, 8.5, 7.0, 0.25, 1.0),
    ],
    columns=PHASE_COLUMNS,
)
DEPENDENCIES = pd.DataFrame(
    [
        ("main", "training", "worker_0", "pipe:[1]", 1, 0.5),
        ("main", "(none)", "worker_1", "pipe:[2]", 1, 0.5),
        ("main", "training", "unknown", "pipe:[3]", 1, 0.5),
    ],
    columns=DEPENDENCY_COLUMNS,
)
UTILIZATION = pd.DataFrame({"start_s": [0.0, 8.0], "end_s": [8.0, 16.0], "utilization": [0.5, 1.0]})
TIMELINE = pd.DataFrame(
    {"device": 0, "start_s": [0.0, 8.0], "end_s": [8.0, 16.0], "busy": [0.1, 0.2], "reported": [np.nan, 1.0]}
)


def many(workers: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """As many workers that ask a server, then a training, then two evaluations."""
    phases = [(f"worker_{n}", "self_play", 2.0, 20.0 + n / 10, 18.0 + n / 10, 15.0, 0.5, 2.0) for n in range(workers)]
    phases += [("server", "self_play", 1.0, 22.0, 21.0, 8.0, 3.0, 9.0)]
    phases += [("main", "training", 23.0, 26.0, 3.0, 3.0, 1.0, 0.0)]
    phases += [(f"evaluation_{n}", "evaluation", 27.0, 30.0, 3.0, 3.0, 0.1, 0.0) for n in range(2)]
    edges = [("main", "training", f"worker_{n}", "", 1, 0.1) for n in range(workers)]
    edges += [(f"worker_{n}", "self_play", "server", "", 1, 0.1) for n in range(workers)]
    edges += [("server", "self_play", f"worker_{n}", "", 1, 0.1) for n in range(workers)]
    return pd.DataFrame(phases, columns=PHASE_COLUMNS), pd.DataFrame(edges, columns=DEPENDENCY_COLUMNS)


def alternating() -> pd.DataFrame:
    """A main process that samples 8 s and optimizes 2 s ten times and evaluates then, beside a worker."""
    phases = [
        ("main", "sampling", 0.0, 98.0, 80.0, 40.0, 8.0, 0.0),
        ("main", "optimization", 8.0, 100.0, 20.0, 18.0, 12.0, 0.0),
        ("main", "evaluation", 100.0, 110.0, 10.0, 10.0, 1.0, 0.0),
        ("worker", "simulation", 0.0, 110.0, 110.0, 30.0, 0.0, 80.0),
    ]
    return pd.DataFrame(phases, columns=PHASE_COLUMNS)


def drawn() -> tuple[Axes, list[Axes]]:
    axes, *others = process_view(PHASES, DEPENDENCIES, UTILIZATION, TIMELINE).axes
    return axes, others


def test_bars_hang_from_the_start_of_a_phase() -> None:
    axes, _ = drawn()
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    found = [(bar.get_y(), bar.get_height(), to_hex(bar.get_facecolor())) for bar in bars]
    expected = [
        (row["start_s"], row[column], colour)
        for row in PHASES.loc[[2, 3, 1]].to_dict("records")
        for column, _, colour in BARS
    ]
    assert found == expected
    bottom, top = axes.get_ylim()
    assert bottom > 16 > 0 > top, "time runs downwards"


def test_numbers_and_names_stand_at_the_bars() -> None:
    axes, _ = drawn()
    texts = [text.get_text() for text in axes.texts]
    assert texts == [
        "8",
        "0.5",
        "8.5",
        "0.25",
        "4",
        "1",
        "worker_0: self_play",
        "worker_1: self_play",
        "main: training",
    ]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Total", "CPU", "GPU", DEPENDENCY]


def test_processes_share_a_column_when_they_are_not_at_once() -> None:
    phases, _ = many(5)
    columns = {block.process: block.column for block in blocks_of(phases)}
    assert [columns[name] for name in ("server", *(f"worker_{n}" for n in range(5)))] == [0, 1, 2, 3, 4, 5]
    assert columns["main"] in (2, 3) and columns["main"] == columns["evaluation_0"]
    assert columns["evaluation_1"] != columns["evaluation_0"]


def test_phases_of_a_process_that_alternate_stand_side_by_side_in_its_column() -> None:
    phases = alternating()
    blocks = {block.phase: block for block in blocks_of(phases)}
    assert [block.column for block in blocks.values()] == [0, 0, 0, 1]
    assert [(block.lane, block.lanes) for block in blocks.values()] == [(0, 2), (1, 2), (0, 2), (0, 1)]
    axes, *_ = process_view(phases, DEPENDENCIES[:0], UTILIZATION[:0], TIMELINE).axes
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [bar.get_height() for bar in bars] == phases[[column for column, *_ in BARS]].to_numpy().ravel().tolist()
    spans = [(bar.get_x(), bar.get_x() + bar.get_width(), bar.get_y(), bar.get_y() + bar.get_height()) for bar in bars]
    over = [
        (one, other)
        for place, one in enumerate(spans)
        for other in spans[:place]
        if one[0] < other[1] - 1e-9 and other[0] < one[1] - 1e-9 and one[2] < other[3] and other[2] < one[3]
    ]
    assert not over
    assert all(-0.5 < left < right < 0.5 for left, right, *_ in spans[: -len(BARS)])


def test_numbers_in_names_are_numbers() -> None:
    assert sorted(["w_10", "w_9", "a", "w"], key=natural) == ["a", "w", "w_9", "w_10"]
    assert sorted(["w_10", "w_009", "w_08"], key=natural) == ["w_08", "w_009", "w_10"]
    # More digits than Python converts to a number.
    one, other = f"w_{'1' * 5000}", f"w_{'9' * 4999}"
    assert sorted([one, other], key=natural) == [other, one]


def test_time_in_no_phase_is_drawn_where_there_are_no_phases() -> None:
    assert [block.phase for block in blocks_of(PHASES)] == ["self_play", "self_play", "training"]
    (alone,) = blocks_of(PHASES[:1])
    assert alone == Block("main", "(none)", 0, 0.0, 2.0)
    assert alone.name == "main"
    assert Block("training", "training", 0, 0.0, 1.0).name == "training"
    assert Block("training_1", "training", 0, 0.0, 1.0).name == "training_1"


def test_arrows_run_from_who_sent_to_who_waited() -> None:
    blocks = blocks_of(PHASES)
    found = [(source.process, target.process, target.phase) for source, target in arrows_of(blocks, DEPENDENCIES)]
    assert found == [("worker_0", "main", "training"), ("worker_1", "main", "training")]
    axes, _ = drawn()
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    places = {block.process: block for block in blocks}
    for arrow, sender in zip(arrows, ("worker_0", "worker_1"), strict=True):
        (start, end) = arrow._posA_posB  # type: ignore[attr-defined]
        assert start == (places[sender].column, places[sender].end_s)
        assert end == (places["main"].column, 12.0)


def test_an_arrow_between_processes_at_once_has_two_heads_if_both_send() -> None:
    phases, edges = many(3)
    arrows = arrows_of(blocks_of(phases), edges)
    both = {(source.process, target.process) for (source, target), is_both in arrows.items() if is_both}
    assert both == {("server", f"worker_{n}") for n in range(3)}
    assert len(arrows) == 6
    one_way = edges[edges["process"] != "server"]
    assert not any(arrows_of(blocks_of(phases), one_way).values())


def test_arrows_of_a_process_with_many_others_are_on_one_line_behind_the_bars() -> None:
    phases, edges = many(16)
    axes, *_ = process_view(phases, edges, UTILIZATION, TIMELINE).axes
    across = [arrow for arrow in axes.patches if isinstance(arrow, FancyArrowPatch) and arrow.get_zorder() < 1]
    assert len(across) >= 16
    assert len({arrow._posA_posB[0][1] for arrow in across}) == 1  # type: ignore[attr-defined]


def test_numbers_of_a_short_phase_stand_beside_it_and_zero_is_not_written() -> None:
    phases = pd.DataFrame(
        [("a", "x", 0.0, 1.0, 1.0, 1.0, 0.0, 0.0), ("b", "y", 1.0, 100.0, 99.0, 9.0, 3.0, 0.0)], columns=PHASE_COLUMNS
    )
    other = ("c", "z", 0.0, 0.5, 0.5, 0.5, 0.0, 0.0)
    phases = pd.concat([phases, pd.DataFrame([other], columns=PHASE_COLUMNS)], ignore_index=True)
    axes, *_ = process_view(phases, DEPENDENCIES[:0], UTILIZATION[:0], TIMELINE).axes
    texts = [text.get_text() for text in axes.texts]
    assert "b: y: 99 s, GPU 3 s" in texts and "99" not in texts and "0" not in texts


def test_what_was_sent_before_a_repeated_phase_is_of_its_first_part() -> None:
    blocks = [Block("a", "x", 0, 0.0, 1.0), Block("a", "z", 0, 5.0, 6.0), Block("b", "y", 1, 2.0, 3.0)]
    edge = pd.DataFrame([("b", "y", "a")], columns=["process", "phase", "on"])
    ((source, target),) = arrows_of(blocks, edge)
    assert (source.phase, target.phase) == ("x", "y")


def test_strips_show_what_was_reported_and_what_was_busy_on_the_time_axis() -> None:
    axes, (*strips, key) = drawn()
    assert [strip.get_title() for strip in strips] == ["CPU\nreported", "GPU\nreported", "GPU\nbusy"]
    assert key.get_title() == "Utilization"
    meshes = [strip.collections[0] for strip in strips]
    assert all(isinstance(mesh, QuadMesh) and mesh.get_clim() == (0, 1) for mesh in meshes)
    assert [list(mesh.get_array().ravel().filled(-1)) for mesh in meshes] == [[0.5, 1], [-1, 1], [0.1, 0.2]]
    assert all(strip.get_ylim() == axes.get_ylim() for strip in strips)
    assert list(meshes[0].get_coordinates()[:, 0, 1]) == [0, 8, 16]  # type: ignore[attr-defined]


def test_devices_have_strips_of_their_own() -> None:
    both = pd.concat([TIMELINE, TIMELINE.assign(device=1)])
    _, *strips, _ = process_view(PHASES, DEPENDENCIES, UTILIZATION, both).axes
    assert [strip.get_title() for strip in strips][1:] == [
        f"GPU {number}\n{what}" for number in (0, 1) for what in ("reported", "busy")
    ]


def test_without_a_device_there_is_nothing_of_a_gpu() -> None:
    (axes,) = process_view(PHASES, DEPENDENCIES[:0], UTILIZATION[:0], TIMELINE[:0]).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Total", "CPU"]
    assert len(axes.patches) == 2 * 3
    assert [text.get_text() for text in axes.texts][:3] == ["8", "8.5", "4"]


def several_at_once(workers: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The workers of `many`, beside a process whose phases alternate."""
    phases, edges = many(workers)
    return pd.concat([phases, alternating()[:2].replace("main", "learner")]), edges


@pytest.mark.parametrize(
    ("made", "workers", "more"), [(many, 2, 0), (many, 16, 0), (several_at_once, 2, 2), (several_at_once, 16, 2)]
)
def test_names_of_processes_at_once_do_not_overlap(
    made: Callable[[int], tuple[pd.DataFrame, pd.DataFrame]], workers: int, more: int, tmp_path: Path
) -> None:
    phases, edges = made(workers)
    figure = process_view(phases, edges, UTILIZATION, TIMELINE)
    save_figure(figure, tmp_path / "view.png")
    assert (tmp_path / "view.png").stat().st_size > 10_000
    names = [text for text in figure.axes[0].texts if text.get_bbox_patch().get_linewidth() == 0.6]
    boxes = [name.get_window_extent() for name in names]
    assert len(boxes) == workers + 4 + more
    overlapping = [
        (names[one].get_text(), names[other].get_text())
        for one in range(len(boxes))
        for other in range(one)
        if boxes[one].overlaps(boxes[other])
    ]
    assert not overlapping
